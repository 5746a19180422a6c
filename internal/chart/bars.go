package chart

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bars is one horizontal bar per name, in order from the top.
type Bars struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	X     string `json:"x"` // axis with its unit: "seconds"
	Bars  []Bar  `json:"bars"`
}

// Bar is a value, at least 0, and how far single readings of it lay apart.
type Bar struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Text draws b in lines of at most width characters, each with its value.
// full is the character that bars are made of: "#" where nothing else is sure
// to be shown. A value too small for one has no bar.
func (b Bars) Text(width int, full string) string {
	longest, most := 0, 0.0
	for _, bar := range b.Bars {
		longest, most = max(longest, utf8.RuneCountInString(bar.Name)), max(most, bar.Value)
	}
	room := max(width-longest-len("    99999.99  "), 8)
	var out strings.Builder
	for _, bar := range b.Bars {
		n := 0
		if most > 0 {
			n = int(bar.Value/most*float64(room) + 0.5)
		}
		line := fmt.Sprintf("  %-*s  %8.2f  %s", longest, bar.Name, bar.Value, strings.Repeat(full, n))
		out.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return out.String()
}
