# Converts a topic of `authctl help`, or with kind=commands its command list, to mdoc(7): rows of a
# name and a text become lists, and the command names refer to pages.

function flush(   t) {
  t = row
  row = ""
  if (t == "") return
  if (name == "") {
    print prose(t)
    return
  }
  if (!is_open) {
    print ".Bl -tag -width " (kind == "commands" ? "authctl-register_1 -compact" : "Ds")
    is_open = 1
  }
  if (kind == "commands") name = "Xr authctl-" name " 1"
  else if (name ~ /^[A-Za-z_]+(, [A-Za-z_]+)*$/) {
    gsub(/,/, " ,", name)
    name = "Ev " name
  }
  print ".It " name
  print prose(t)
  name = ""
}

function end() {
  flush()
  if (is_open) print ".El"
  is_open = 0
}

kind == "commands" && /^HELP TOPICS/ { exit }
kind == "commands" && /^[A-Z][A-Z ]*$/ {
  end()
  begun = $0 != "USAGE"
  if (begun) print ".Ss " sentence_case($0)
  next
}
kind == "commands" && !begun { next }
kind == "" && NR == 1 { next }
/^$/ {
  end()
  paragraphs += printed
  printed = 0
  next
}
{ printed = 1 }
/^  [^ ]/ {
  flush()
  row = substr($0, 3)
  if (match(row, /  +/)) {
    name = substr(row, 1, RSTART - 1)
    row = substr(row, RSTART + RLENGTH)
  }
  next
}
/^ +[^ ]/ {
  sub(/^ +/, "")
  row = row " " $0
  next
}
{
  if (row == "" && paragraphs) print ".Pp"
  paragraphs = 0
  row = row (row == "" ? "" : " ") $0
}
END { end() }
