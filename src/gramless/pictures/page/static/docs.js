// The routes of /openapi.json, readable, from this server alone.

import { at } from "./dom.js";

const make = (tag, text, ...children) => {
  const element = document.createElement(tag);
  if (text) element.textContent = text;
  element.append(...children);
  return element;
};

const schema = await (await fetch("openapi.json")).json();

// A schema as the JSON that it stands for, with types in the place of values.
function shape(part, depth = 0) {
  if (!part || depth > 8) return "…";
  if (part.$ref) return shape(schema.components.schemas[part.$ref.split("/").pop()], depth + 1);
  if (part.anyOf) return part.anyOf.map((one) => (one.type === "null" ? "null" : JSON.stringify(shape(one, depth + 1)))).join(" or ").replaceAll('"', "");
  if (part.properties) return Object.fromEntries(Object.entries(part.properties).map(([name, inner]) => [name, shape(inner, depth + 1)]));
  if (part.type === "array") return [shape(part.items, depth + 1)];
  if (part.additionalProperties) return { "…": shape(part.additionalProperties, depth + 1) };
  return part.enum?.join(" | ") ?? [part.format ?? part.type ?? "anything", part.description].filter(Boolean).join(": ");
}

function block(title, content) {
  const entries = Object.entries(content ?? {}).filter(([, { schema: inner }]) => inner && Object.keys(inner).length);
  return entries.flatMap(([kind, { schema: inner }]) => [make("p", `${title}: ${kind}`), make("pre", JSON.stringify(shape(inner), null, 2))]);
}

function route(path, method, about) {
  const card = make("section", "", make("h2", "", make("b", method.toUpperCase()), path), make("p", about.description ?? about.summary));
  card.className = "route";
  for (const { name, in: where, schema: inner } of about.parameters ?? []) card.append(make("p", `${where} ${name}: ${JSON.stringify(shape(inner)).replaceAll('"', "")}`));
  card.append(...block("takes", about.requestBody?.content), ...block("answers", about.responses?.["200"]?.content));
  for (const [code, { description }] of Object.entries(about.responses ?? {})) if (code !== "200" && code !== "422") card.append(make("p", `${code}: ${description}`));
  return card;
}

at("example").textContent = `curl -F pictures=@sea.jpg ${location.origin}/annotate`;
const routes = Object.entries(schema.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, about]) => route(path, method, about)));
at("routes").replaceChildren(...routes);
at("routes").ariaBusy = "false";
