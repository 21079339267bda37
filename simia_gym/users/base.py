"""The user's contract, under the name that users import it by."""

from simia_gym.scene import Scene, User

__all__ = ["Scene", "User"]
