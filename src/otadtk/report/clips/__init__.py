"""The clips of a report: their table, and what the page shows of single ones."""
