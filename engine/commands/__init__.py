"""The commands of `python -m engine`: one file each, with `add_arguments(parser)` and `main(args) -> exit code`."""
