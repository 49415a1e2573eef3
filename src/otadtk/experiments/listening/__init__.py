"""Listening tests: how far distances agree with what listeners said."""
