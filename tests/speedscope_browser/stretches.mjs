// Both kinds of profiles as one: what the stack was from when to when, without the time in which it was empty.

// Of a sampled profile, as stackclock writes them.
export function stretchesOfFile(profile, frames) {
  const stretches = []
  let now = 0
  profile.samples.forEach((stack, at) => {
    add(stretches, now, now + profile.weights[at], stack.map(frame => textOf(frames[frame])))
    now += profile.weights[at]
  })
  return stretches
}

// Of an evented profile, as speedscope exports them.
export function stretchesOfExport(profile, frames) {
  const stretches = []
  const open = []
  let now = 0
  for (const { type, frame, at } of profile.events) {
    add(stretches, now, at, [...open])
    now = at
    if (type === 'O') open.push(textOf(frames[frame]))
    else open.pop()
  }
  return stretches
}

function textOf({ name, file, line }) {
  return JSON.stringify([name, file ?? null, line ?? null])
}

// Joins what is adjacent and has the same stack: formats differ in where they cut.
function add(stretches, start, end, stack) {
  if (end === start || stack.length === 0) return
  const last = stretches.at(-1)
  if (last?.end === start && last.stack.join() === stack.join()) last.end = end
  else stretches.push({ start, end, stack })
}
