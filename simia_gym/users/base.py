"""The user's contract, under the name that users import it by."""

from simia_gym.contracts import StepContext, User

__all__ = ["StepContext", "User"]
