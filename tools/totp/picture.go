package totp

import (
	"fmt"
	"strings"

	"rsc.io/qr"
)

// quiet is the bright margin of a picture, in modules. ISO/IEC 18004 wants 4;
// phones read 2, and the picture has to fit a terminal.
const quiet = 2

// Picture draws text as a QR code for a terminal with bright letters on a dark
// ground, or the other way round (bright). UTF-8 takes half blocks, two rows a
// line; else each module is two characters, so that it works on any serial
// console. The error says that it is wider than the terminal.
func Picture(text string, utf8, bright bool, width int) (string, error) {
	c, err := qr.Encode(text, qr.L)
	if err != nil {
		return "", fmt.Errorf("drawing the QR code: %w", err)
	}
	n := c.Size + 2*quiet
	need := n
	if !utf8 {
		need = 2 * n
	}
	if need > width {
		return "", fmt.Errorf("the QR code is %d columns wide and the terminal %d", need, width)
	}
	// ink: a letter has to be drawn there.
	ink := func(x, y int) bool {
		x, y = x-quiet, y-quiet
		return y < c.Size+quiet && c.Black(x, y) == bright
	}
	var b strings.Builder
	if !utf8 {
		for y := range n {
			for x := range n {
				b.WriteString(map[bool]string{true: "##", false: "  "}[ink(x, y)])
			}
			b.WriteByte('\n')
		}
		return b.String(), nil
	}
	for y := 0; y < n; y += 2 {
		for x := range n {
			switch up, down := ink(x, y), ink(x, y+1); {
			case up && down:
				b.WriteRune('█')
			case up:
				b.WriteRune('▀')
			case down:
				b.WriteRune('▄')
			default:
				b.WriteByte(' ')
			}
		}
		b.WriteByte('\n')
	}
	return b.String(), nil
}
