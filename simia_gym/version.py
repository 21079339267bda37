"""The version, read by the build and by `simia_gym.__version__`."""

__version__ = "0.1.0"
