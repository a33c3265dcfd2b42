"""The wait between retries."""


def retry_delay(tries: int, luck: float, *, first: float, longest: float = float("inf")) -> float:
    """Return the seconds to wait after `tries` failed tries: doubled from `first` up to `longest`;
    `luck` (0 to 1) takes up to half of it, so that clients refused together do not return together.
    """
    return min(first * 2.0 ** (tries - 1), longest) * (0.5 + luck / 2)
