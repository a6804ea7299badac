"use strict";
// Text of others is only ever set as textContent.
const MOST_IN_LINK = 16384, BYTES_SHOWN = 64, MORE_SHOWN = 1024;
const at = id => document.getElementById(id);
const lists = JSON.parse(at("lists").textContent);
let wasm, module, choices, next = 0, file = null, last = 0;

function make(name, text, more = {}) {
  const element = document.createElement(name);
  if (text !== undefined && text !== null) element.textContent = text;
  for (const [key, value] of Object.entries(more)) element.setAttribute(key, value);
  return element;
}

// --- WebAssembly ---

async function load() {
  if (!("DecompressionStream" in window) || !("WebAssembly" in window)) throw new Error("this browser is too old: it cannot unpack the page's program");
  const packed = Uint8Array.from(atob(at("wasm").textContent), one => one.charCodeAt(0));
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  module = await WebAssembly.compile(await new Response(unpacked).arrayBuffer());
  await begin();
}

async function begin() {
  wasm = (await WebAssembly.instantiate(module)).exports;
}

function give(bytes) {
  // Making room may replace the memory.
  const room = wasm.room(bytes.length);
  new Uint8Array(wasm.memory.buffer, room, bytes.length).set(bytes);
}

const giveText = text => give(new TextEncoder().encode(text));

function answer() {
  return JSON.parse(new TextDecoder().decode(new Uint8Array(wasm.memory.buffer, wasm.answer_at(), wasm.answer_len())));
}

const bytes = () => new Uint8Array(wasm.memory.buffer, wasm.bytes(), wasm.bytes_len());

// --- Reading ---

function say(read, wrong = "") {
  at("read").textContent = read;
  at("wrong").textContent = wrong;
  at("text").setAttribute("aria-invalid", wrong ? "true" : "false");
}

// What the text leaves out.
const left = said => (said.gaps ?? []).map(gap => ` Left out ${gap}.`).join("");

// Takes the file, or the text; false if there are no bytes.
function take() {
  const text = at("text").value, form = at("as").value;
  if (file) {
    give(file.bytes);
    wasm.take_bytes();
    const said = answer();
    say(`The file ${file.name}: ${file.bytes.length} bytes${said.form ? `, ${said.form} of ${said.bytes} bytes` : ""}.${left(said)}`, said.error);
    return said.error === undefined;
  }
  if (!text.trim()) {
    say("");
    return false;
  }
  giveText(text);
  if (form === "text") {
    wasm.take_bytes();
    say(`Read as the characters themselves: ${wasm.bytes_len()} bytes.`);
    return true;
  }
  wasm.take_text(form === "" ? 0xffff : Number(form));
  const said = answer();
  if (said.error === undefined) {
    say(`Read as ${said.form}: ${said.bytes} bytes.${left(said)}`);
    return said.bytes > 0;
  }
  const place = said.line ? `line ${said.line}, column ${said.column}: ` : "";
  say("", `${said.form ? `Read as ${said.form}: ` : ""}${place}${said.error}`);
  return false;
}

function run() {
  clearTimeout(last);
  at("shown").replaceChildren();
  at("next").hidden = true;
  next = 0;
  guarded(() => { if (take()) more(); });
}

function more() {
  giveText(JSON.stringify({ from: at("from").value, request: at("request").value, kind: at("kind").value, skip: next }));
  wasm.explain();
  const said = answer();
  if (said.error !== undefined) {
    say(at("read").textContent, said.error);
    return;
  }
  next = said.next;
  at("shown").append(...said.items.map(article));
  at("next").hidden = said.rest === 0;
  at("next").textContent = `Explain more: the last ${said.rest} bytes are not shown or checked yet`;
}

// A trap leaves the program in an unknown state: it is started again.
function guarded(work) {
  try {
    work();
  } catch (error) {
    say(at("read").textContent, `This page failed: ${error.message}. That is a mistake of the page; please report it with these bytes.`);
    begin();
  }
}

// --- Showing ---

const digits = bytes => Array.from(bytes, one => one.toString(16).padStart(2, "0")).join(" ");

// Lines of 16 bytes, which may wrap in the middle.
function lines(bytes) {
  const found = [];
  for (let from = 0; from < bytes.length; from += 16) {
    const line = make("div");
    line.append(make("span", digits(bytes.subarray(from, from + 8))));
    if (bytes.length > from + 8) line.append(make("span", digits(bytes.subarray(from + 8, from + 16))));
    found.push(line);
  }
  return found;
}

function showBytes(cell, part) {
  let shown = Math.min(part.length, BYTES_SHOWN);
  cell.append(...lines(part.subarray(0, shown)));
  if (shown === part.length) return;
  const button = make("button", "", { type: "button" });
  const label = () => { button.textContent = `… ${part.length - shown} more bytes`; };
  button.addEventListener("click", () => {
    const end = Math.min(part.length, shown + MORE_SHOWN);
    button.before(...lines(part.subarray(shown, end)));
    shown = end;
    if (shown === part.length) button.remove(); else label();
  });
  label();
  cell.append(button);
}

function table(item, all) {
  const table = make("table", null, { role: "table" }), head = make("thead", null, { role: "rowgroup" }), body = make("tbody", null, { role: "rowgroup" });
  const names = make("tr", null, { role: "row" });
  for (const name of ["Offset", "Bytes", "Field", "Meaning"]) names.append(make("th", name, { role: "columnheader", scope: "col" }));
  head.append(names);
  for (const [offset, len, field, text] of item.parts) {
    const row = make("tr", null, { role: "row" }), from = item.offset + offset;
    if (item.wrongAt !== null && offset <= item.wrongAt && item.wrongAt < offset + len) row.className = "wrong";
    const cell = (name, text) => make("td", text, { role: "cell", class: name });
    const bytes = cell("bytes");
    showBytes(bytes, all.slice(from, from + len));
    row.append(cell("offset", from.toString(16).padStart(6, "0")), bytes, cell("field", field), cell("text", text));
    body.append(row);
  }
  table.append(make("caption", item.title), head, body);
  return table;
}

function article(item) {
  const article = make("article");
  article.append(make("h2", item.title));
  if (item.lacksRequest) article.append(make("p", "Its meaning depends on the request: choose it in “Replies answer”."));
  const badges = make("p");
  if (item.verdict !== null) badges.append(make("span", item.verdict, { class: "badge wrong" }), " ");
  if (item.canonical !== null) {
    const is = item.canonical;
    badges.append(make("span", is ? "canonical: encoding it again gives these bytes" : "not canonical", { class: is ? "badge good" : "badge" }));
  }
  if (badges.childNodes.length) article.append(badges);
  for (const remark of item.remarks) article.append(make("p", remark, item.verdict === null ? {} : { class: "wrong" }));
  if (item.answer) article.append(make("p", item.answer));
  article.append(table(item, bytes()));
  if (item.moreParts) article.append(make("p", `${item.moreParts} more parts are not shown; “diagipc decode” prints them.`));
  if (item.canonicalForm !== null) article.append(opens("The canonical form of the same value", item.canonicalForm));
  article.append(item.json === null ? make("p", "Too long to be shown as JSON; “diagipc decode --json” prints it.") : opens("As JSON", item.json));
  return article;
}

function opens(title, text) {
  const details = make("details");
  details.append(make("summary", title), make("pre", text, { tabindex: "0" }));
  return details;
}

// --- Files ---

async function open(given) {
  if (given.size > choices.mostBytes) {
    say("", `${given.name} has ${given.size} bytes; this page reads at most ${choices.mostBytes}. “diagipc decode” reads larger files.`);
    at("shown").replaceChildren();
    at("next").hidden = true;
    return;
  }
  const found = new Uint8Array(await given.arrayBuffer());
  const text = textOf(found);
  file = text === null ? { name: given.name, bytes: found } : null;
  at("text").value = text ?? "";
  at("as").value = "";
  run();
}

// The text of a file without control characters; null if it is bytes.
function textOf(found) {
  if (found.some(one => one === 127 || (one < 32 && one !== 9 && one !== 10 && one !== 13))) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(found);
  } catch {
    return null;
  }
}

// --- Links and examples ---

function set(values) {
  file = null;
  at("file").value = "";
  at("text").value = values.hex;
  at("as").value = values.as ?? "";
  for (const name of ["kind", "from", "request"]) at(name).value = values[name] ?? "";
}

function fromLink() {
  const given = new URLSearchParams(location.hash.slice(1));
  if (!given.has("hex")) return;
  set({ hex: given.get("hex"), as: "0", kind: given.get("kind"), from: given.get("from"), request: given.get("request") });
  run();
  for (const name of ["kind", "from", "request"]) {
    if (at(name).value === "" && given.get(name)) {
      at(name).value = "";
      say(at("read").textContent, `The link has ${name}=${given.get(name)}, which this page does not know.`);
    }
  }
}

function link() {
  const all = take() ? bytes() : new Uint8Array();
  if (all.length === 0) {
    at("said").textContent = "There are no bytes to link to.";
    return;
  }
  if (all.length > MOST_IN_LINK) {
    at("said").textContent = `${all.length} bytes are too many for a link: at most ${MOST_IN_LINK}.`;
    return;
  }
  const values = new URLSearchParams({ hex: digits(all).replaceAll(" ", "") });
  for (const name of ["kind", "from", "request"]) if (at(name).value) values.set(name, at(name).value);
  history.replaceState(null, "", `#${values}`);
  const done = copied => { at("said").textContent = `The link is in the address bar${copied}.`; };
  if (!navigator.clipboard) return done("");
  navigator.clipboard.writeText(location.href).then(() => done(", and copied"), () => done(""));
}

function fill() {
  wasm.list_choices();
  choices = answer();
  for (const [nth, name] of choices.forms.entries()) at("as").append(make("option", name, { value: nth }));
  at("as").append(make("option", "the characters themselves", { value: "text" }));
  for (const name of lists.kinds) at("kind").append(make("option", name, { value: name }));
  for (const name of choices.commands) at("request").append(make("option", name, { value: name }));
  for (const [nth, one] of lists.examples.entries()) at("example").append(make("option", one.title, { value: nth }));
}

// --- Beginning ---

function later() {
  clearTimeout(last);
  last = setTimeout(run, 150);
}

function listen() {
  at("form").addEventListener("submit", event => event.preventDefault());
  at("text").addEventListener("input", () => {
    file = null;
    at("file").value = "";
    later();
  });
  for (const name of ["as", "kind", "from", "request"]) at(name).addEventListener("change", run);
  at("example").addEventListener("change", () => {
    if (at("example").value === "") return;
    set(lists.examples[Number(at("example").value)]);
    run();
  });
  at("file").addEventListener("change", event => { if (event.target.files[0]) open(event.target.files[0]); });
  at("next").addEventListener("click", () => guarded(more));
  at("link").addEventListener("click", () => guarded(link));
  at("clear").addEventListener("click", () => {
    set({ hex: "" });
    at("example").value = "";
    at("said").textContent = "";
    history.replaceState(null, "", location.pathname);
    run();
    at("text").focus();
  });
  window.addEventListener("hashchange", fromLink);
  document.addEventListener("dragover", event => {
    event.preventDefault();
    document.body.classList.add("drop");
  });
  document.addEventListener("dragleave", () => document.body.classList.remove("drop"));
  document.addEventListener("drop", event => {
    event.preventDefault();
    document.body.classList.remove("drop");
    const { files } = event.dataTransfer, text = event.dataTransfer.getData("text");
    if (files.length > 1) say("", `${files.length} files were dropped; this page reads one at a time.`);
    else if (files.length === 1) open(files[0]);
    else if (text) {
      set({ hex: text });
      run();
    }
  });
}

load().then(() => {
  fill();
  listen();
  fromLink();
  document.documentElement.dataset.ready = "";
}, error => say("", `This page cannot start: ${error.message}`));
