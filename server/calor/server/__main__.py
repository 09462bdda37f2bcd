"""``python -m calor.server`` is ``calor``."""

from calor.server.cli import main

if __name__ == "__main__":
    main(prog_name="calor")
