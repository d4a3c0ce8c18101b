# Functions of page.awk and list.awk that write authctl's text as mdoc(7).

# Prose: options keep their dashes, and no line begins with a macro.
function words_of(t) {
  gsub(/\\/, "\\e", t)
  t = " " t
  while (match(t, /[ '"(]-/)) t = substr(t, 1, RSTART) "\\-" substr(t, RSTART + 2)
  gsub(/\\--/, "\\-\\-", t)
  t = substr(t, 2)
  return t ~ /^[.']/ ? "\\&" t : t
}

# Prose with each sentence on its own line.
function prose(t,   out) {
  t = words_of(t)
  while (match(t, /[.?!] [A-Z]/)) {
    out = out substr(t, 1, RSTART) "\n"
    t = substr(t, RSTART + 2)
  }
  return out t
}

# Text to type: every dash is literal.
function literal(t) {
  gsub(/\\/, "\\e", t)
  gsub(/-/, "\\-", t)
  return t ~ /^[.']/ ? "\\&" t : t
}

function sentence_case(t) {
  t = substr(t, 1, 1) tolower(substr(t, 2))
  sub(/^Api /, "API ", t)
  return t
}
