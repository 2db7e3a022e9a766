// Programs in links: the text, compressed, as the fragment of the address. Nothing is sent to a server.

async function through(bytes, stream) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

// The fragment of a program: `code=...`.
export async function fragmentOf(text) {
  const bytes = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
  const chars = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return "code=" + btoa(chars).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

// The program of an address: {text}, {example: name}, or null. Throws when a link is damaged.
export async function programOf(hash) {
  const [, kind, value] = /^#?(code|text|example)=(.*)$/s.exec(hash) ?? [];
  if (!kind) return null;
  if (kind === "example") return { example: decodeURIComponent(value) };
  if (kind === "text") return { text: decodeURIComponent(value) };
  try {
    const bytes = Uint8Array.from(atob(value.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(await through(bytes, new DecompressionStream("deflate-raw"))) };
  } catch {
    throw new Error("The link is damaged: the program in it can't be read. Was it copied as a whole?");
  }
}
