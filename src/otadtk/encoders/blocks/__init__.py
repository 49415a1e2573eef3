"""Building blocks that several networks share: front ends, attention, batching."""
