# Draws what a terminal of 80 columns shows as a picture: lines of text with ECMA-48 colours
# (SGR 0, 1, 2, 22, 30 to 37, 39) on standard input, SVG on standard output.
function escaped(s) { gsub(/&/, "\\&amp;", s); gsub(/</, "\\&lt;", s); gsub(/>/, "\\&gt;", s); return s }
function set(codes,    n, i, c, list) {
	n = split(codes, list, ";")
	if (n == 0) { weight = ""; fill = "" }
	for (i = 1; i <= n; i++) {
		c = list[i] + 0
		if (c == 0) { weight = ""; fill = "" }
		else if (c == 1) weight = " font-weight=\"bold\""
		else if (c == 2) fill = " fill=\"#8b949e\""
		else if (c == 22) weight = ""
		else if (c == 39) fill = ""
		else if (c in colour) fill = " fill=\"" colour[c] "\""
	}
}
function drawn(line,    out, at, text) {
	out = ""
	while (line != "") {
		at = match(line, /\033\[[0-9;]*m/)
		text = at ? substr(line, 1, at - 1) : line
		if (text != "") out = out ((weight fill) == "" ? escaped(text) : "<tspan" weight fill ">" escaped(text) "</tspan>")
		if (!at) break
		set(substr(line, RSTART + 2, RLENGTH - 3))
		line = substr(line, at + RLENGTH)
	}
	return out
}
BEGIN {
	colour[31] = "#ff7b72"; colour[32] = "#7ee787"; colour[33] = "#e3b341"; colour[34] = "#79c0ff"
	colour[35] = "#d2a8ff"; colour[36] = "#76e3ea"; colour[37] = "#e6edf3"; colour[30] = "#8b949e"
}
{ lines[NR] = drawn($0) }
END {
	while (NR > 0 && lines[NR] == "") NR--
	height = NR * 18 + 32
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 %d\" width=\"720\" height=\"%d\" role=\"img\">\n", height, height
	print "<title>fettle check and fettle before reboot on a web server</title>"
	printf "<rect width=\"720\" height=\"%d\" rx=\"8\" fill=\"#0d1117\"/>\n", height
	print "<g font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"14\" fill=\"#e6edf3\">"
	for (i = 1; i <= NR; i++)
		if (lines[i] != "") printf "<text x=\"20\" y=\"%d\" xml:space=\"preserve\">%s</text>\n", 12 + i * 18, lines[i]
	print "</g>\n</svg>"
}
