"""``python -m simia_gym`` is the command ``simia``."""

from simia_gym.cli import main

if __name__ == "__main__":
    main()
