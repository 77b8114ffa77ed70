// A folder: its pictures in order, one of them being corrected, and what the server says of its work.

import { drawCurve } from "./curve.js";
import { announce, at, copyOf, notice } from "./dom.js";
import { Scroller } from "./scroller.js";

const percent = (share) => `${Math.round(100 * share)} %`;
const counted = (n, one, many = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

const before = sessionStorage.getItem("window"); // a window that is loaded anew may still undo
const me = before ?? crypto.getRandomValues(new Uint32Array(4)).join("-");
sessionStorage.setItem("window", me);
const SHOWN = { next: "These would teach most", all: "All pictures", unanswered: "Not answered yet", answered: "Answered, the last one first", unreadable: "Cannot be read" };

let query = { show: "next" };
let order = null; // the server's number for what is shown
let current = null; // {number, item} of the picture that is being corrected
let status = null;
let describedThen = 0; // pictures that were described when what is shown was asked for
let posted = Promise.resolve(); // corrections go one after the other
let steadyFrom = 0; // when the keywords on the screen have stood long enough to be meant
const STEADY = 700; // milliseconds
const SLOW = 400; // milliseconds after which it is said that something is being looked for
const PROPOSED = 60; // pictures that would teach most: as many as the server proposes
const GROWING = ["next", "keyword"]; // what is shown of described pictures only

// ---- asking the server

async function ask(path, body) {
  const options = body ? { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) } : {};
  let response, reply;
  try {
    response = await fetch(`folder/${path}`, options);
    reply = await response.json();
  } catch {
    throw new Error("The server does not answer. Is it still running? What was answered before is safe.");
  }
  if (response.ok) return reply;
  throw new Error(typeof reply.detail === "string" ? reply.detail : `The server refused this (${response.status}).`);
}

function later(work) {
  posted = posted.then(work).catch((error) => notice(error.message));
  return posted;
}

async function page(start, count) {
  const wanted = query;
  const asked = new URLSearchParams({ ...wanted, start, count });
  if (order !== null) asked.set("order", order);
  const reply = await ask(`pictures?${asked}`);
  if (query === wanted) order = reply.order; // otherwise something else is shown by now
  return reply;
}

const scroller = new Scroller(at("scroller"), {
  fetchSome: async (start, count) => (await page(start, count)).pictures,
  makeCell: (number) => {
    const cell = copyOf("cell");
    cell.onclick = () => choose(number);
    cell.querySelector("img").onerror = ({ target }) => target.remove();
    return cell;
  },
  fill: fillCell,
});

async function show(wanted, focus = false) {
  query = wanted;
  order = null;
  current = null;
  describedThen = status?.described ?? 0;
  if (!focus) showCurrent(); // otherwise the first one takes its place
  notice("");
  for (const button of document.querySelectorAll(".show")) button.ariaPressed = String(button.dataset.show === query.show);
  at("slide").hidden = !("least" in query);
  if ("least" in query) {
    at("least").value = query.least;
    showLeast();
  }
  document.body.ariaBusy = "true";
  const slow = setTimeout(() => {
    if (query !== wanted) return;
    scroller.reset(0);
    at("empty").hidden = true;
    announceAndShow(wanted.show === "duplicates" ? "Comparing all pictures with each other …" : "Looking …");
  }, SLOW);
  try {
    const reply = await page(0, 60);
    if (query !== wanted) return;
    scroller.reset(reply.total, 0, reply.pictures);
    showHeading(reply.total);
    if (reply.total && focus) await choose(0);
    else if (!current) showCurrent();
  } catch (error) {
    if (query !== wanted) return;
    at("heading").textContent = "";
    notice(error.message);
  } finally {
    clearTimeout(slow);
    if (query === wanted) document.body.ariaBusy = "false";
  }
}

// ---- the pictures

function showHeading(total) {
  const said = {
    keyword: `“${query.keyword}”`,
    like: "Like this one, the most alike first",
    duplicates: "Nearly the same, group by group",
  };
  at("heading").textContent = `${SHOWN[query.show] ?? said[query.show]} · ${counted(total, "picture")}`;
  at("empty").hidden = total > 0;
  at("empty").textContent = emptyText();
}

function emptyText() {
  if (query.show === "answered") return "Nothing was answered yet. Accept, strike or add keywords, and they are kept beside your pictures.";
  if (status && status.described + status.unreadable < status.pictures) return "Looking at your pictures. They appear here as soon as the first ones are described.";
  return query.show === "next" ? "Every picture of this folder is answered." : "No picture is like that.";
}

function fillCell(cell, item, number) {
  const isCurrent = current?.number === number;
  cell.ariaCurrent = String(isCurrent);
  cell.tabIndex = isCurrent || (!current && number === 0) ? 0 : -1;
  if (!item) return;
  const thumb = cell.querySelector(".thumb");
  if (cell.dataset.id !== String(item.id)) {
    cell.dataset.id = item.id;
    if (item.state === "unreadable") thumb.textContent = `It ${item.reason}`;
    else if (thumb.firstElementChild) thumb.firstElementChild.src = `folder/thumbnails/${item.id}`;
  }
  const words = item.keywords.filter(({ said }) => said !== false);
  const shown = words.flatMap(({ keyword, said }, i) => {
    const word = document.createElement(said ? "b" : "span");
    word.textContent = keyword;
    return i ? [", ", word] : [word];
  });
  const instead = { waiting: "not described yet", unreadable: shown.length ? "" : item.name }[item.state];
  cell.querySelector(".words").replaceChildren(...(instead ? [instead] : shown));
  cell.querySelector(".badge").textContent = badge(item);
  const said = words.map(({ keyword }) => keyword).join(", ");
  cell.ariaLabel = `${item.name}: ${said || "no keywords"}${item.done ? ", answered" : ""}`;
  cell.title = item.name;
}

function badge(item) {
  if (query.show === "keyword" && item.keywords.some(({ keyword, said }) => said && keyword === query.keyword)) return "✓";
  if (query.show === "keyword" || query.show === "like") return percent(Math.max(0, item.value ?? 0));
  if (query.show === "duplicates") return `group ${(item.value ?? 0) + 1}`;
  return item.training ? "taught" : item.done ? "✓" : "";
}

// ---- the one that is being corrected

async function choose(number) {
  if (number < 0 || number >= scroller.total) return;
  const before = current?.number;
  const item = await scroller.item(number);
  if (!item) return;
  current = { number, item };
  for (const changed of [before, number]) {
    const cell = scroller.cells.get(changed);
    if (cell) fillCell(cell, scroller.items.get(changed), changed);
  }
  showCurrent();
  const cell = scroller.reveal(number);
  if (!isTyping() && !isSheet()) cell.focus({ preventScroll: true });
  if (isSheet()) at("right").focus({ preventScroll: true });
}

const isTyping = () => document.activeElement?.matches("input");
const isSheet = () => getComputedStyle(at("detail")).position === "fixed";

function showCurrent() {
  const item = current?.item;
  at("detail").hidden = !item;
  const wasOpen = at("desk").classList.contains("open");
  at("desk").classList.toggle("open", Boolean(item));
  if (wasOpen !== Boolean(item)) scroller.draw();
  if (!item) return;
  const part = (name) => at("detail").querySelector(name);
  part(".name").textContent = item.name;
  const image = part("img");
  const address = `folder/previews/${item.id}`;
  if (image.getAttribute("src") !== address) image.src = address;
  image.alt = item.name;
  part(".state").textContent = stateOf(item);
  at("chips").replaceChildren(...item.keywords.map(chipFor));
  const open = item.keywords.some(({ said }) => said === null);
  at("right").textContent = item.done && !open ? "Next" : "All right, next";
  at("right").disabled = item.state !== "described";
}

function stateOf(item) {
  if (item.state === "unreadable") return `This picture ${item.reason}.`;
  if (item.state === "waiting") return "This picture is not described yet.";
  if (item.done) return item.training ? "The model was taught on this picture." : "Answered: it has these keywords and no others.";
  if (item.keywords.some(({ said }) => said !== null)) return "Partly answered. All right, next: it has what is left, and nothing else.";
  return item.keywords.length ? "What the model suggests." : "The model suggests nothing.";
}

function chipFor({ keyword, p, said }, i) {
  const chip = copyOf("chip");
  chip.className = said === null ? "" : said ? "said-yes" : "said-no";
  chip.querySelector(".number").textContent = i < 9 ? i + 1 : "";
  chip.querySelector(".word").textContent = keyword;
  chip.querySelector(".score").textContent = p === null ? "new" : percent(p);
  const [yes, no] = chip.querySelectorAll("button");
  yes.ariaLabel = `Accept ${keyword}`;
  yes.ariaPressed = String(said === true);
  yes.onclick = () => say({ [keyword]: said === true ? null : true });
  no.ariaLabel = `Strike ${keyword}`;
  no.ariaPressed = String(said === false);
  no.onclick = () => say({ [keyword]: said === false ? null : false });
  return chip;
}

function say(keywords, done = null) {
  if (!current) return posted;
  const { id } = current.item;
  const had = document.activeElement?.getAttribute("aria-label");
  return later(async () => {
    const reply = await ask("corrections", { picture: id, window: me, keywords, done });
    took(reply);
    const words = Object.entries(keywords).map(([word, has]) => `${word}: ${has === null ? "open" : has ? "accepted" : "struck"}`);
    announce([...words, done ? "answered" : ""].filter(Boolean).join(", "));
    if (had) at("chips").querySelector(`[aria-label="${CSS.escape(had)}"]`)?.focus(); // the button was made anew
  });
}

function took({ picture, undo }) {
  notice("");
  at("undo").disabled = !undo;
  if (!picture) return;
  scroller.replace(picture);
  if (current?.item.id === picture.id) {
    current.item = { ...picture, value: current.item.value };
    showCurrent();
  }
}

async function allRight() {
  const picture = current?.item.id;
  await posted; // what was struck a moment ago is not accepted
  if (!current || current.item.id !== picture || current.item.state !== "described" || !isSteady()) return;
  const open = current.item.keywords.filter(({ said }) => said === null);
  if (open.length || !current.item.done) await say(Object.fromEntries(open.map(({ keyword }) => [keyword, true])), true);
  await goOn();
}

function isSteady() {
  const steady = performance.now() >= steadyFrom;
  if (!steady) announce("The keywords have changed: look again.");
  return steady;
}

async function goOn() {
  const { number, item } = current;
  await posted;
  if (current?.item.id !== item.id) return; // pressed twice, it goes on once
  if (number + 1 < scroller.total) await choose(number + 1);
  else if (query.show === "next") await show({ show: "next" }, true);
  else announce("That was the last one.");
}

function undo() {
  later(async () => {
    const reply = await ask("undo", { window: me });
    took(reply);
    announce(reply.picture ? `Undone: ${reply.picture.name}` : "There is nothing to undo.");
  });
}

function close() {
  const number = current?.number ?? 0;
  current = null;
  showCurrent();
  scroller.draw();
  const cell = scroller.cells.get(number);
  if (cell) {
    fillCell(cell, scroller.items.get(number), number);
    cell.tabIndex = 0;
    cell.focus({ preventScroll: true });
  }
}

// ---- what the server does meanwhile

function listen() {
  const events = new EventSource("folder/events");
  events.onmessage = ({ data }) => heard(JSON.parse(data));
  events.onerror = () => showWork("The server does not answer. What was answered is safe.", false);
}

function heard(news) {
  const before = status;
  status = news;
  const looked = news.described + news.unreadable;
  at("folder").textContent = news.folder;
  at("described").hidden = looked === news.pictures;
  at("described").max = news.pictures;
  at("described").value = looked;
  at("learn").disabled = Boolean(news.learning.stage) || !news.answered;
  at("everything").disabled = Boolean(news.learning.stage);
  document.querySelector("[data-show=answered]").textContent = `Answered ${news.answered ? news.answered.toLocaleString("en") : ""}`.trim();
  at("unreadable").hidden = !news.unreadable;
  at("unreadable").textContent = `Unreadable ${news.unreadable.toLocaleString("en")}`;
  if (news.learning.stage) showWork(`Learning: ${news.learning.stage}`, true);
  else if (looked < news.pictures) showWork(`${looked.toLocaleString("en")} of ${counted(news.pictures, "picture")} described`, true);
  else showWork(learnedText(news), false);
  showQuality(news.curve);
  if (news.learning.failed && news.learning.failed !== before?.learning.failed) notice(news.learning.failed);
  if (!before || news.model !== before.model || news.keywords !== before.keywords) loadKeywords();
  if (!before) return;
  if (news.model !== before.model) announce(`Learned again in ${news.learning.seconds.toFixed(1)} seconds.`);
  if (wouldGrow(news, before)) show(query);
  else if (news.model !== before.model || news.labels !== before.labels || news.described !== before.described) refresh();
}

// Whether so many more pictures are described that a short list may be a longer one by now.
function wouldGrow({ described, unreadable, pictures }, before) {
  if (described === before.described || current || !GROWING.includes(query.show) || scroller.total >= PROPOSED) return false;
  return described >= 2 * describedThen || described + unreadable === pictures;
}

function learnedText({ pictures, model, learning, output }) {
  const learned = model ? ` · learned again in ${learning.seconds.toFixed(1)} s${output ? `, saved as ${output}` : ""}` : "";
  return `${counted(pictures, "picture")}${learned}`;
}

function showWork(text, busy) {
  at("work").textContent = text;
  at("work").classList.toggle("busy", busy);
}

function showQuality(points) {
  at("quality").hidden = points.length < 2;
  if (points.length < 2) return;
  const [first, last] = [points[0][1], points.at(-1)[1]];
  at("quality").querySelector("summary").textContent =
    `On held-out pictures ${last.toFixed(1)} % with your answers, ${first.toFixed(1)} % without`;
  at("quality").querySelector("figcaption").textContent =
    "How far up a picture’s own keywords stand (mean average precision), for pictures that were kept out, by how many answered pictures were learned from.";
  drawCurve(at("curve"), points);
}

let planned = false;
function refresh() {
  if (planned) return;
  planned = true;
  setTimeout(() => {
    planned = false;
    scroller.refresh();
    if (current) later(refreshCurrent); // after the corrections that are on their way
  }, 150);
}

async function refreshCurrent() {
  if (!current) return;
  const picture = await ask(`pictures/${current.item.id}`);
  if (current?.item.id !== picture.id) return;
  const words = ({ keywords }) => keywords.map(({ keyword }) => keyword).join("\n");
  if (words(picture) !== words(current.item)) steadyFrom = performance.now() + STEADY; // not what somebody aims at
  took({ picture, undo: !at("undo").disabled });
}

async function loadKeywords() {
  try {
    const { keywords, new: added } = await ask("keywords");
    const options = [...keywords, ...added].map((value) => Object.assign(document.createElement("option"), { value }));
    at("vocabulary").replaceChildren(...options);
  } catch {
    // the words are only proposals; the next news bring them
  }
}

function showLeast() {
  const value = Number(at("least").value);
  at("slide").firstElementChild.textContent = query.show === "duplicates" ? `at least ${percent(value)} alike` : `at least ${percent(value)} probable`;
}

// ---- what people do

for (const button of document.querySelectorAll(".show")) {
  const { show: wanted } = button.dataset;
  button.onclick = () => show(wanted === "duplicates" ? { show: wanted, least: 0.88 } : { show: wanted });
}
at("find").onsubmit = (event) => {
  event.preventDefault();
  const keyword = at("keyword").value.trim();
  if (keyword) show({ show: "keyword", keyword, least: 0.5 });
};
at("least").oninput = showLeast;
at("least").onchange = () => show({ ...query, least: Number(at("least").value) });
at("add").onsubmit = (event) => {
  event.preventDefault();
  const words = at("word").value.split(/[;,]/).map((word) => word.trim()).filter(Boolean);
  at("word").value = "";
  if (words.length) say(Object.fromEntries(words.map((word) => [word, true])));
};
at("undo").onclick = undo;
at("learn").onclick = () => later(() => ask("learn", { everything: false }));
at("everything").onclick = () => later(() => ask("learn", { everything: true }));
at("xmp").onclick = () =>
  later(async () => {
    const { written, failed, reasons } = await ask("xmp", {});
    const text = `${counted(written, "picture has its", "pictures have their")} keywords beside ${written === 1 ? "it" : "them"}, in files that end in .xmp.`;
    if (failed) notice(`${text} Not written: ${failed}. ${reasons.join(" ")}`);
    else announceAndShow(text);
  });
at("right").onclick = allRight;
at("skip").onclick = goOn;
at("like").onclick = () => show({ show: "like", picture: current.item.id }, true);
at("close").onclick = close;
document.addEventListener("click", ({ target }) => {
  if (!at("more").contains(target) || target.matches("button, a")) at("more").open = false;
});

function announceAndShow(text) {
  announce(text);
  at("heading").textContent = text;
}

const KEYS = {
  ArrowRight: () => choose((current?.number ?? -1) + 1),
  ArrowLeft: () => choose((current?.number ?? 1) - 1),
  ArrowDown: () => choose((current?.number ?? -scroller.columns) + scroller.columns),
  ArrowUp: () => choose((current?.number ?? scroller.columns) - scroller.columns),
  a: () => current && at("word").focus(),
  u: undo,
  l: () => current && at("like").click(),
  n: () => show({ show: "next" }, true),
  Escape: () => current && close(),
};

document.addEventListener("keydown", (event) => {
  const { key, code, target } = event;
  if (target.matches("input")) {
    if (key === "Escape") (scroller.cells.get(current?.number ?? scroller.range[0]) ?? at("more").firstElementChild).focus();
    return;
  }
  if ((event.ctrlKey || event.metaKey) && key.toLowerCase() === "z") {
    event.preventDefault();
    undo();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const digit = /^Digit([1-9])$/.exec(code)?.[1];
  const button = digit && current && at("chips").children[digit - 1]?.querySelector(event.shiftKey ? ".no" : ".yes");
  if (button && isSteady()) button.click();
  else if (key === "Enter" && current && (target.matches(".cell") || target === document.body)) allRight();
  else if (!digit && KEYS[key.length === 1 ? key.toLowerCase() : key]) KEYS[key.length === 1 ? key.toLowerCase() : key]();
  else return;
  event.preventDefault();
});

at("undo").disabled = before === null;
listen();
show(query);
