"""`login` and `logout`: sign in to a server before a client needs it, and give up what is kept."""

import os
from typing import Any

import click

from dragoman.cli.servers import check_trust, read_url, trust_options, url_options
from dragoman.cli.signin import read_store, sign_in_options, store_options
from dragoman.cli.words import Plain


@click.command(cls=Plain)
@url_options
@sign_in_options
@click.argument("url")
@click.pass_context
def login(ctx: click.Context, /, **options: Any) -> int:
    """Sign in to the server at URL, and keep the sign-in for the bridges of this machine.

    Give the options with which the bridge is started, too: a sign-in is for one URL, account, redirect port and client.
    Exit code 0 when you are signed in, 1 when that failed, 2 when the command line is wrong.
    """
    on_the_line = click.core.ParameterSource.COMMANDLINE
    given = frozenset(name for name in options if ctx.get_parameter_source(name) is on_the_line)
    server = read_url(options["url"], None, options, given)
    if server.sign_in is None or server.target is None:
        raise click.UsageError("with an Authorization header there is nothing to sign in to")
    import asyncio

    from dragoman.cli.ahead import sign_in

    return asyncio.run(sign_in(server.target, server.sign_in))


@click.command(cls=Plain)
@store_options
@trust_options
@click.option("--all", "everything", is_flag=True, help="Give up every sign-in that is kept.")
@click.argument("url", required=False)
def logout(url: str | None, everything: bool, **options: Any) -> int:
    """Give up the sign-in to the server at URL, or every one with --all.

    Tokens and registrations are deleted here, and given back to the authorization server if it takes them; a line says
    so. Exit code 0 when nothing is kept any more, 1 when something could not be deleted, 2 when the command line is
    wrong.
    """
    if everything == (url is not None):
        raise click.UsageError("give a URL, or --all" if not everything else "give a URL or --all, not both")
    check_trust(options)
    folder, key = read_store(options, os.environ)
    import asyncio

    from dragoman.cli.ahead import give_up
    from dragoman.signin.stores import StoreFailed

    try:
        count = asyncio.run(give_up(url, options, folder, key))
    except (StoreFailed, OSError) as error:
        click.echo(f"dragoman: not everything could be deleted: {error}", err=True)
        return 1
    click.echo(f"sign-ins deleted: {count}" if count else "nothing was kept")
    return 0
