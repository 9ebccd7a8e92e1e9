"""`python -m penchant`."""

from penchant.cli.main import main

if __name__ == "__main__":
    main()
