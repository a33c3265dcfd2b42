"""Pages of a long list."""


def fit_page(page: int, total: int, size: int) -> tuple[int, int]:
    """Return the nearest page that there is, and the number of pages."""
    pages = max(1, -(-total // size))
    return min(max(1, page), pages), pages
