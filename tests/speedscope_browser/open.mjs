// Opens a profile with the real speedscope in headless Chromium and checks that speedscope understood it.
//
//     node tests/speedscope_browser/open.mjs PROFILE.speedscope.json [SCREENSHOT-PREFIX]
//
// Loads the profile the way the speedscope command does, then compares what speedscope exports again (its own
// idea of every profile, with times) with the file, and looks for the names on the page. Prints a summary as JSON.
// With a prefix it leaves PREFIX-time-order.png and PREFIX-sandwich.png. Exit status 1: something differs.
//
// STACKCLOCK_SPEEDSCOPE_DIR is the npm package speedscope, with playwright-core beside it (default: where
// ./scripts/test.sh installs them); STACKCLOCK_CHROMIUM the browser (default: /usr/bin/chromium).

import assert from 'node:assert/strict'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

import { stretchesOfExport, stretchesOfFile } from './stretches.mjs'

const TIMEOUT_MS = 30_000
const CHROMIUM_FLAGS = [
  '--no-sandbox', // refuses to start as root otherwise
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--allow-file-access-from-files',
]

const repository = fileURLToPath(new URL('../..', import.meta.url))
const speedscope =
  process.env.STACKCLOCK_SPEEDSCOPE_DIR ?? path.join(repository, 'target/test-tools/node_modules/speedscope')

async function main([profilePath, screenshots]) {
  assert(profilePath, 'usage: open.mjs PROFILE.speedscope.json [SCREENSHOT-PREFIX]')
  const index = path.join(speedscope, 'dist/release/index.html')
  assert(fs.existsSync(index), `${index} is missing; ./scripts/test.sh installs the npm package speedscope`)
  const { chromium } = createRequire(path.join(path.resolve(speedscope), 'package.json'))('playwright-core')

  const bytes = fs.readFileSync(profilePath)
  const file = JSON.parse(bytes)
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'stackclock-speedscope-'))
  const browser = await chromium.launch({
    executablePath: process.env.STACKCLOCK_CHROMIUM ?? '/usr/bin/chromium',
    args: CHROMIUM_FLAGS,
  })
  try {
    const script = path.join(scratch, 'profile.js')
    const argumentsOfCall = [path.basename(profilePath), bytes.toString('base64')].map(text => JSON.stringify(text))
    fs.writeFileSync(script, `speedscope.loadFileFromBase64(${argumentsOfCall.join(', ')})`)
    const url = view => `${pathToFileURL(index)}#localProfilePath=${encodeURIComponent(script)}&view=${view}`

    const timeOrder = await open(browser, url('time-ordered'), file)
    const exported = await exportFrom(timeOrder.page)
    if (screenshots) await timeOrder.page.screenshot({ path: `${screenshots}-time-order.png` })
    const sandwich = await open(browser, url('sandwich'), file)
    const rows = await sandwichRows(sandwich.page)
    if (screenshots) await sandwich.page.screenshot({ path: `${screenshots}-sandwich.png` })

    compare(file, exported)
    checkPage(file, await sandwich.page.textContent('body'), rows)
    const problems = [...timeOrder.problems, ...sandwich.problems]
    assert.deepEqual(problems, [], 'speedscope complains')
    const profiles = exported.profiles.map(({ name, endValue }) => ({ name, length_ns: endValue }))
    console.log(JSON.stringify({ title: await timeOrder.page.title(), profiles, rows }, null, 2))
  } finally {
    await browser.close()
    fs.rmSync(scratch, { recursive: true })
  }
}

// Opens speedscope and waits until it shows the profile; collects what goes wrong on the page.
async function open(browser, url, file) {
  const page = await browser.newPage({ viewport: { width: 1400, height: 800 }, acceptDownloads: true })
  page.setDefaultTimeout(TIMEOUT_MS)
  const problems = []
  const problem = new Promise((_, reject) => {
    const add = text => {
      problems.push(text)
      reject(new Error(`speedscope complains: ${text}`))
    }
    // Errors only: the warnings are the graphics driver's.
    page.on('console', message => message.type() === 'error' && add(message.text()))
    page.on('pageerror', error => add(String(error)))
    page.on('dialog', dialog => {
      add(dialog.message())
      dialog.dismiss()
    })
  })
  problem.catch(() => {}) // One that comes after the race below is found in `problems`.
  await page.goto(url)
  await Promise.race([problem, page.waitForFunction(name => document.title === `${name} - speedscope`, file.name)])
  await page.getByText('Export').waitFor()
  return { page, problems }
}

// The names in the sandwich table: the rows after its header, the last one of the page's tables.
async function sandwichRows(page) {
  await page.getByText('Symbol Name').waitFor()
  const rows = await page.locator('table tr').evaluateAll(rows => rows.map(row => row.lastChild.textContent))
  return rows.slice(rows.lastIndexOf('Symbol Name') + 1)
}

// What speedscope writes when its user asks for an export: every profile as it understood it.
async function exportFrom(page) {
  const download = page.waitForEvent('download')
  await page.getByText('Export').click()
  return JSON.parse(fs.readFileSync(await (await download).path()))
}

function compare(file, exported) {
  assert.equal(exported.profiles.length, file.profiles.length, 'number of profiles')
  assert.equal(exported.activeProfileIndex, file.activeProfileIndex, 'profile shown first')
  file.profiles.forEach((profile, at) => {
    const seen = exported.profiles[at]
    assert.equal(seen.name, profile.name)
    assert.equal(seen.unit, profile.unit)
    assert.equal(seen.endValue, profile.endValue - profile.startValue, `length of ${profile.name}`)
    const expected = stretchesOfFile(profile, file.shared.frames)
    assert.deepEqual(stretchesOfExport(seen, exported.shared.frames), expected, `stacks of ${profile.name}`)
  })
}

// The page lists all profiles, and the sandwich table the frames of the first one (of those only what is in sight).
function checkPage(file, text, rows) {
  for (const { name } of file.profiles) assert(text.includes(name), `the page does not name ${name}`)
  const first = file.profiles[file.activeProfileIndex]
  const known = new Set(first.samples.flat().map(frame => file.shared.frames[frame].name))
  assert(rows.length > 0, 'the sandwich table is empty')
  for (const name of rows) assert(known.has(name), `the table shows a frame that is not in the profile: ${name}`)
}

main(process.argv.slice(2)).catch(error => {
  console.error(`error: ${error.message ?? error}`)
  process.exitCode = 1
})
