"""The commands, one thin file each: parse, call, print."""
