"""Sign-in to servers at a URL: the client's side of OAuth 2.1, from a challenge to the token of each request."""
