// Pictures are sent one by one, so that each result is shown as soon as it is there and the rest can be cancelled.

import { announce, at, copyOf, notice } from "./dom.js";

const waiting = [];
let underWay = null; // the AbortController of the request that runs
let finished = 0;
let asked = 0;

const modelIsKnown = fetch("model").then((response) => (response.ok ? response.json() : null)).catch(() => null);

// ---- taking pictures in

function take(files) {
  if (!files.length) return;
  notice("");
  const cards = files.map(makeCard);
  at("cards").prepend(...cards.map((card) => card.element));
  enqueue(cards);
}

function makeCard(file) {
  const element = copyOf("card");
  const part = (name) => element.querySelector(`.${name}`);
  const card = { file, element, part };
  part("name").textContent = file.name;
  const image = part("picture").querySelector("img");
  image.onerror = () => part("picture").classList.add("unshown");
  image.src = URL.createObjectURL(file);
  part("again").onclick = () => {
    at("choose").focus({ preventScroll: true }); // the button that was pressed goes away
    enqueue([card]);
  };
  part("copy").onclick = () => copyKeywords(card);
  return card;
}

function enqueue(cards) {
  for (const card of cards) setState(card, "waiting", "Waiting");
  waiting.push(...cards);
  asked += cards.length;
  if (!underWay) lookAtAll();
  showProgress();
}

async function takeDropped(transfer) {
  // Entries must be asked for before the first await: the browser empties the transfer when the event is over.
  const found = [...transfer.items]
    .filter((item) => item.kind === "file")
    .map((item) => {
      const entry = item.webkitGetAsEntry?.();
      return entry?.isDirectory ? picturesIn(entry) : [item.getAsFile()];
    });
  try {
    const files = (await Promise.all(found)).flat();
    if (files.length) take(files);
    else notice("There are no pictures in this folder.");
  } catch {
    notice("This folder cannot be read. Choose its pictures with the button.");
  }
}

async function picturesIn(folder) {
  const reader = folder.createReader();
  const entries = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject)); // at most 100 at a time
    if (!some.length) break;
    entries.push(...some);
  }
  const found = entries.map((entry) =>
    entry.isDirectory ? picturesIn(entry) : new Promise((resolve, reject) => entry.file(resolve, reject)),
  );
  return (await Promise.all(found)).flat().filter((file) => file.type.startsWith("image/"));
}

// ---- looking at them

async function lookAtAll() {
  while (waiting.length) {
    await lookAt(waiting.shift());
    finished += 1;
    showProgress();
  }
  underWay = null;
  finished = asked = 0;
  showProgress();
}

async function lookAt(card) {
  underWay = new AbortController();
  setState(card, "looking", "Looking at the picture");
  try {
    const answer = await send(card.file, underWay.signal);
    if (answer.error) fail(card, answer.error);
    else show(card, answer);
  } catch (error) {
    if (error.name === "AbortError") cancelled(card);
    else fail(card, "The server does not answer. Is it still running?", true);
  }
}

async function send(file, signal) {
  const limit = (await modelIsKnown)?.limits.picture_bytes;
  if (limit && file.size > limit) {
    const megabytes = (bytes) => `${+(bytes / 1e6).toPrecision(3)} MB`;
    return { error: `It has ${megabytes(file.size)}, more than the ${megabytes(limit)} that one picture may have.` };
  }
  const form = new FormData();
  form.append("pictures", file);
  const response = await fetch("annotate", { method: "POST", body: form, signal });
  const reply = response.headers.get("content-type")?.includes("json") ? await response.json() : {};
  if (response.ok) return reply.pictures[0];
  return { error: reply.detail ?? `The server refused the picture (${response.status}).` };
}

function cancelAll() {
  for (const card of waiting.splice(0)) {
    cancelled(card);
    finished += 1;
  }
  underWay?.abort();
  announce("Cancelled.");
}

// ---- showing what came of it

function setState(card, state, text) {
  card.element.dataset.state = state;
  card.element.ariaBusy = state === "looking";
  card.part("state").textContent = text;
  card.part("again").hidden = state !== "cancelled";
}

function cancelled(card) {
  setState(card, "cancelled", "Cancelled");
}

function fail(card, reason, mayWorkLater = false) {
  setState(card, "failed", reason);
  card.part("again").hidden = !mayWorkLater;
  announce(`${card.file.name}: ${reason}`);
}

function show(card, { keywords, neighbours }) {
  setState(card, "done", keywords.length ? "" : "The model has no keyword for this picture.");
  card.keywords = keywords.map(({ keyword }) => keyword);
  card.part("keywords").replaceChildren(...keywords.map(keywordRow));
  card.part("neighbours").replaceChildren(...neighbours.map(neighbourFigure));
  card.part("near").hidden = !neighbours.length;
  card.part("copy").hidden = !keywords.length || !navigator.clipboard; // browsers have it on localhost and with https
  announce(`${card.file.name}: ${card.keywords.join(", ") || "no keyword"}`);
}

function keywordRow({ keyword, score }) {
  const row = copyOf("keyword");
  row.querySelector(".word").textContent = keyword;
  row.querySelector(".fill").style.setProperty("--score", Math.min(Math.max(score, 0), 1));
  row.querySelector(".score").textContent = score.toFixed(2);
  return row;
}

function neighbourFigure({ name, similarity, keywords, thumbnail }) {
  const figure = copyOf("neighbour");
  const image = figure.querySelector("img");
  if (thumbnail) image.src = thumbnail;
  else image.remove();
  image.alt = name;
  figure.title = name;
  figure.querySelector(".similarity").textContent = `${similarity.toFixed(2)} alike`;
  figure.querySelector(".shared").textContent = keywords.join(", ");
  return figure;
}

function showProgress() {
  const isBusy = finished < asked;
  if (!isBusy && document.activeElement === at("cancel")) at("choose").focus({ preventScroll: true });
  at("progress").hidden = !isBusy;
  at("bar").max = asked || 1;
  at("bar").value = finished;
  at("progress-text").textContent = asked === 1 ? "Looking at the picture" : `${finished} of ${asked} pictures`;
  const hasCards = at("cards").childElementCount > 0;
  document.body.classList.toggle("has-results", hasCards);
  at("results").hidden = !hasCards;
  at("clear").hidden = isBusy;
}

function clearAll() {
  for (const image of at("cards").querySelectorAll(".picture img")) URL.revokeObjectURL(image.src);
  at("cards").replaceChildren();
  showProgress();
  at("choose").focus();
  announce("Cleared.");
}

async function copyKeywords(card) {
  await navigator.clipboard.writeText(card.keywords.join(", "));
  const button = card.part("copy");
  button.textContent = "Copied";
  announce("Copied.");
  setTimeout(() => (button.textContent = "Copy keywords"), 2000);
}

async function showVocabulary() {
  const model = await modelIsKnown;
  if (!model) return;
  at("nav").hidden = !model.folder;
  const count = model.keywords.length;
  at("vocabulary").hidden = false;
  at("vocabulary").querySelector("summary").textContent = `This model knows ${count} keyword${count === 1 ? "" : "s"}`;
  const items = model.keywords.map((keyword) => Object.assign(document.createElement("li"), { textContent: keyword }));
  at("vocabulary").querySelector("ul").replaceChildren(...items);
}

// ---- what people do

at("choose").onclick = () => at("files").click();
at("files").onchange = () => {
  take([...at("files").files]);
  at("files").value = ""; // so that the same picture can be chosen again
};
at("cancel").onclick = cancelAll;
at("clear").onclick = clearAll;
document.onpaste = (event) => take([...event.clipboardData.files]);

let depth = 0; // dragenter and dragleave come for every element on the way
const setDepth = (value) => {
  depth = Math.max(value, 0);
  document.body.classList.toggle("dragging", depth > 0);
};
const onFiles = (type, act) =>
  window.addEventListener(type, (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault(); // or the browser would leave this page and open the picture
    act(event);
  });
onFiles("dragenter", () => setDepth(depth + 1));
onFiles("dragleave", () => setDepth(depth - 1));
onFiles("dragover", (event) => (event.dataTransfer.dropEffect = "copy"));
onFiles("drop", (event) => {
  setDepth(0);
  takeDropped(event.dataTransfer);
});

showVocabulary();
