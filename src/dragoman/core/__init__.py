"""The middle: where a front and a back meet, without ids, revision names or transports."""
