# Converts the text of --help to an mdoc(7) page. Variables: words (`profile add`), date, part (a
# file with additions to the page); or only (the title of one section), which prints only its list.

# `-p, --profile <name>` as macros.
function label(t,   n, i, out, parts) {
  n = split(t, parts, " ")
  for (i = 1; i <= n; i++) {
    t = parts[i]
    if (t ~ /^-.*,$/) out = out " Fl " substr(t, 2, length(t) - 2) " ,"
    else if (t ~ /^-/) out = out " Fl " substr(t, 2)
    else {
      gsub(/[<>]/, "", t)
      out = out (i > 1 && parts[i - 1] ~ /^</ ? " " : " Ar ") t
    }
  }
  return substr(out, 2)
}

function end_item() {
  if (item != "" && item !~ /^(--version|-h, --help)$/)
    items = items "\n.It " (section == "SUBCOMMANDS" ? "Xr authctl-" name "-" item " 1" : \
      label(item)) "\n" prose(summary)
  item = summary = ""
}

function end_section() {
  end_item()
  if (items != "") {
    list[section] = ".Bl -tag -width Ds" items "\n.El"
    if (section !~ /^(ARGUMENTS|OPTIONS|GLOBAL OPTIONS|SUBCOMMANDS)$/) titles[++count] = section
  }
  items = ""
}

# `authctl exec [<options>] -- <cmd> [<args> ...]`
function synopsis(t,   one, is_optional) {
  print ".Nm \"authctl " words "\""
  t = substr(t, length("authctl " words) + 2)
  while (match(t, /^(\[[^ ]*( \.\.\.)?\]|[^ ]+) */)) {
    one = substr(t, 1, RLENGTH)
    t = substr(t, RLENGTH + 1)
    sub(/ +$/, "", one)
    is_optional = sub(/^\[/, "", one) && sub(/\]$/, "", one)
    gsub(/[<>]/, "", one)
    one = one ~ /^-/ ? "Fl " substr(one, 2) : "Ar " one
    print (is_optional ? ".Op " : ".") one
  }
}

# Paragraphs; indented text is literal. Returns the line after `Examples:`.
function discussion(   i, paragraph, wants_space) {
  for (i = 1; i <= lines && body[i] != "Examples:"; i++) {
    if (body[i] ~ /^  /) {
      print ".Bd -literal -offset indent"
      for (; body[i] ~ /^  /; i++) print literal(substr(body[i], 3))
      print ".Ed"
      i--
    } else if (body[i] == "") wants_space = printed
    else {
      if (wants_space) print ".Pp"
      wants_space = 0
      for (paragraph = body[i]; body[i + 1] ~ /^[^ ]/ && body[i + 1] != "Examples:"; i++)
        paragraph = paragraph " " body[i + 1]
      print prose(paragraph)
      printed = 1
    }
  }
  if (!printed) print prose(abstract)
  return i + 1
}

BEGIN {
  name = words
  gsub(/ /, "-", name)
}

/^OVERVIEW: / { state = "abstract"; abstract = substr($0, 11); next }
/^USAGE: / { state = "usage"; usage = substr($0, 8); next }
state == "abstract" && /./ { abstract = abstract " " $0; next }
state == "abstract" { state = "discussion"; next }
state == "discussion" { body[++lines] = $0; next }
state == "usage" && /^ / { sub(/^ +/, ""); usage = usage " " $0; next }
/^[A-Z][^a-z]*:$/ {
  end_section()
  section = substr($0, 1, length($0) - 1)
  state = "items"
  next
}
/^  See 'authctl/ { next }
state == "items" && /^  [^ ]/ {
  end_item()
  # Summaries start in column 27; a longer label has its own line.
  item = $0
  if (substr($0, 26, 1) == " " && substr($0, 27, 1) != "<") {
    item = substr($0, 1, 25)
    summary = substr($0, 27)
  }
  gsub(/^ +| +$/, "", item)
  next
}
state == "items" && /./ {
  sub(/^ +/, "")
  summary = summary (summary == "" ? "" : " ") $0
}

END {
  end_section()
  if (only != "") {
    print list[only]
    exit
  }
  short = abstract
  sub(/\.$/, "", short)
  if (short !~ /^.[A-Z]/) short = tolower(substr(short, 1, 1)) substr(short, 2)
  print ".\\\" Made by make docs from authctl " words " --help and man/parts. Do not edit."
  # The volume: groff has a title for each section, and man(7) shows it as that of the system.
  print ".ds doc-volume-ds-authctl authctl manual"
  print ".Dd " date
  print ".Dt AUTHCTL-" toupper(name) " 1 authctl"
  print ".Os authctl"
  print ".Sh NAME"
  print ".Nm authctl-" name
  print ".Nd " words_of(short)
  print ".Sh SYNOPSIS"
  synopsis(usage)
  print ".Sh DESCRIPTION"
  example = discussion()
  for (printed = 0; (getline line < part) > 0 && line !~ /^\.Sh/; printed = 1) {
    if (!printed) print ".Pp"
    print line
  }
  if ("ARGUMENTS" in list) print list["ARGUMENTS"]
  if ("SUBCOMMANDS" in list) print list["SUBCOMMANDS"]
  else {
    print ".Sh OPTIONS"
    if ("OPTIONS" in list) print list["OPTIONS"]
    for (i = 1; i <= count; i++) {
      print ".Ss " sentence_case(titles[i])
      print list[titles[i]]
    }
    print ".Ss Every command"
    print ".Xr authctl 1"
    print "has the options of every command: profile, account, store, verbosity, error format."
  }
  while (line ~ /^\.Sh/ || (getline line < part) > 0) {
    if (line ~ /^\.Sh EXIT STATUS/) has_status = 1
    print line
    line = ""
  }
  if (!has_status) print ".Sh EXIT STATUS\nSee\n.Xr authctl 1 ."
  if (example <= lines) {
    print ".Sh EXAMPLES\n.Bd -literal -offset indent"
    for (i = example; i <= lines && body[i] != ""; i++) print literal(substr(body[i], 3))
    print ".Ed"
  }
  print ".Sh SEE ALSO\n.Xr authctl 1 ,"
  if (split(words, parts, " ") > 1) print ".Xr authctl-" parts[1] " 1 ,"
  print ".Xr authctl-profile 5"
}
