"""The HTML report and its figures: what a score means, clip by clip. A client of the library."""
