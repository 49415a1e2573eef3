"""What changes from run to run: a gate between two runs, a trend over many."""
