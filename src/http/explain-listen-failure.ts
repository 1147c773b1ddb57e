/** Why the server could not listen, and what to do about it. */
export function explainListenFailure(error: NodeJS.ErrnoException, host: string, port: number): Error {
  const failWith = (what: string): Error => new Error(what, { cause: error });
  switch (error.code) {
    case "EADDRINUSE":
      return failWith(
        `Port ${port} on ${host} is in use, perhaps by another Haft. Open that one, end it, or choose another port (0 for any free one).`,
      );
    case "EACCES":
      return failWith(`There is no permission to listen on port ${port}. Choose one above 1023, such as 4117.`);
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return failWith(`${host} is no address of this machine. Listen on 127.0.0.1, or on one that it has.`);
    default:
      return failWith(`The server could not listen on ${host}:${port} (${error.code ?? error.message}).`);
  }
}
