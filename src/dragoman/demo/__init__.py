"""A conversation to watch: an older client, the bridge, and a modern server, all on this machine."""
