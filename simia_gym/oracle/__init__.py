"""The oracle: an OpenAI-compatible endpoint that answers with code instead of a language model.

It reads the state, the tool call and the task from the prompt and runs the domain's own code on them, so that its
answers are correct. It injects transport faults and wrong answers on request.
"""

from simia_gym.oracle.options import FAULTS, FaultKind, OracleOptions
from simia_gym.oracle.server import OracleServer, serve_in_thread

__all__ = ["FAULTS", "FaultKind", "OracleOptions", "OracleServer", "serve_in_thread"]
