"""The sections of a long `--help`: which options belong together, in the order in which a user meets them."""

from collections.abc import Iterable, Mapping

import click

SECTIONS: Mapping[str, tuple[str, ...]] = {
    "Client and server": ("listen", "upstream", "name", "profile", "discover_timeout"),
    "Translation": (
        *("allow_downgrade", "allow_reencode", "restore_error_codes", "keep_error_codes", "merge_pages"),
        *("progress_rate", "state_key_env"),
    ),
    "A server at a URL": ("header", "header_env", "ca_file", "allow_http", "allow_intranet", "max_response_bytes"),
    "Sign-in to a server at a URL": (
        *("sign_in", "client_id", "client_issuer", "client_secret_env", "client_key_file", "client_metadata_url"),
        *("resource", "assume_pkce", "issuers"),
        *("account", "redirect_port", "no_browser", "sign_in_timeout"),
        *("token_store", "token_key_env", "token_key_file", "token_dir"),
    ),
    "A listener": (
        *("allow_host", "allow_origin", "public_url", "tls_cert", "tls_key", "tls_client_ca"),
        *("auth_token_env", "auth_token_file", "auth_issuer", "auth_audience", "auth_scope", "shared_upstream"),
    ),
    "Limits": (
        *("max_line_bytes", "max_body_bytes", "max_sessions", "max_sessions_per_client"),
        *("max_servers", "max_servers_per_client", "session_idle"),
    ),
    "Diagnosis": ("log", "log_level", "check_result"),
}


def write_options(ctx: click.Context, formatter: click.HelpFormatter, params: Iterable[click.Parameter]) -> None:
    """Write the options of a command by sections; those of none come last."""
    records = {param.name: record for param in params if (record := param.get_help_record(ctx)) is not None}
    for title, names in SECTIONS.items():
        rows = [records.pop(name) for name in names if name in records]
        if rows:
            with formatter.section(title):
                formatter.write_dl(rows)
    if records:
        with formatter.section("Other options"):
            formatter.write_dl(list(records.values()))
