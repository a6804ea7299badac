// A codec of strings, and of a header with two of them, run over the vectors of an installed package.
const assert = require("node:assert");
const vectors = require("dotnet-diagnostics-ipc-vectors");

function readString(wire, at) {
  const count = wire.readUInt32LE(at), end = at + 4 + 2 * count;
  if (end > wire.length || (count && wire.readUInt16LE(end - 2))) throw new RangeError("cut, or no NUL");
  const text = wire.subarray(at + 4, Math.max(at + 4, end - 2)).toString("utf16le");
  const units = Array.from({ length: text.length }, (_, i) => text.charCodeAt(i));
  return [count === 0 ? null : /\p{Surrogate}/u.test(text) ? { utf16: units } : text, end];
}

function decode(type, wire) {
  if (type === "string") return readString(wire, 0)[0];
  const header = [wire.toString("latin1", 0, 14), wire.readUInt16LE(14), wire.readUInt16BE(16), wire.readUInt16LE(18)];
  if (header[0] !== "DOTNET_IPC_V1\0" || header[1] !== wire.length || header[2] !== 0x0403) throw new RangeError("another message");
  const [name, at] = readString(wire, 20);
  return { name, value: readString(wire, at)[0] };
}

let tried = 0;
for (const group of vectors.read("index.json").files.flatMap((file) => vectors.read(file.name).groups)) {
  if (group.type !== "string" && (group.type !== "request" || group.command !== "Process/SetEnvironmentVariable")) continue;
  for (const test of group.tests) {
    const valid = test.result !== "invalid" || test.error.layer === "limits";
    const decoded = () => decode(group.type, Buffer.from(test.wire, "hex"));
    tried += 1;
    if (valid) assert.deepStrictEqual(decoded(), test.value, `${test.tcId}`);
    else assert.throws(decoded, RangeError, `${test.tcId} taken`);
  }
}
console.log(tried, "tests");
