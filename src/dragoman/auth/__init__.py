"""The listener as a protected resource of OAuth 2.1: tokens of one issuer, checked here (revisions 7)."""
