"""An OpenAI-compatible endpoint whose model knows the truth.

It reads the state, the call, the task out of the prompt and runs the domain's own code on them. Faults and errors are
mixed in on request.
"""

from simia_gym.oracle.options import FAULTS, FaultKind, OracleOptions
from simia_gym.oracle.server import OracleServer
from simia_gym.oracle.thread import serve_in_thread

__all__ = ["FAULTS", "FaultKind", "OracleOptions", "OracleServer", "serve_in_thread"]
