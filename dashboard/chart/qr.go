package chart

import (
	"fmt"
	"html/template"
	"strings"

	"rsc.io/qr"
)

// quietZone is how many light modules a scanner needs around a QR code.
const quietZone = 4

// QR draws a code in black on white, whatever the page's theme: one run of
// dark modules after the other, in one path.
func QR(code *qr.Code) template.HTML {
	var path strings.Builder
	for y := range code.Size {
		for x := 0; x < code.Size; x++ {
			from := x
			for x < code.Size && code.Black(x, y) {
				x++
			}
			if x > from {
				fmt.Fprintf(&path, "M%d %dh%dv1h-%dz", from+quietZone, y+quietZone, x-from, x-from)
			}
		}
	}
	side := code.Size + 2*quietZone
	return template.HTML(fmt.Sprintf(`<svg class="qr" viewBox="0 0 %d %d" width="240" height="240" shape-rendering="crispEdges" role="img" aria-labelledby="qr-title">`+
		`<rect width="%d" height="%d" fill="#fff"/><path fill="#000" d="%s"/></svg>`, side, side, side, side, path.String()))
}
