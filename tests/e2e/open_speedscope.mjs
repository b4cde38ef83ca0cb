// open_speedscope.mjs TOOLS PROFILE SCREENSHOT: opens PROFILE with the real speedscope in headless Chromium, takes a
// screenshot, and prints what speedscope shows as JSON: {"title", "errors"}.
// TOOLS is the directory in which scripts/setup.sh has installed the npm packages.
import { createRequire } from "node:module";
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import path from "node:path";

const [tools, profile, screenshot] = process.argv.slice(2);
const { chromium } = createRequire(path.resolve(tools, "package.json"))("playwright-core");
const site = path.resolve(tools, "node_modules/speedscope/dist/release");
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json" };

// speedscope's files as they are, and the profile beside them.
const server = createServer(async (request, response) => {
  const name = new URL(request.url, "http://localhost").pathname;
  const file = name === "/profile.json" ? profile : path.join(site, path.normalize(name));
  try {
    const content = await readFile(file);
    response.writeHead(200, { "content-type": types[path.extname(file)] ?? "application/octet-stream" }).end(content);
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const origin = `http://127.0.0.1:${server.address().port}`;

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  page.on("dialog", (dialog) => {
    errors.push(dialog.message());
    return dialog.dismiss();
  });
  await page.goto(`${origin}/index.html#profileURL=${encodeURIComponent(`${origin}/profile.json`)}`);
  // The toolbar shows `NAME (1/9)` once the file is imported.
  const position = page.getByText(/^\s*\(\d+\/\d+\)$/).first();
  await position.waitFor({ timeout: 30000 });
  const title = await position.locator("..").textContent();
  await page.screenshot({ path: screenshot });
  console.log(JSON.stringify({ title, errors }));
} finally {
  await browser.close();
  server.close();
}
