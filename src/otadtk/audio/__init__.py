"""Audio: finds files, decodes and audits them; adds faults on purpose; synthesises sounds."""
