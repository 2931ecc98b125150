"""x"""


def command() -> None:
    """X."""
