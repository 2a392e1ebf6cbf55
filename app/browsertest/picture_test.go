package browsertest

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"maps"
	"slices"
	"testing"
)

// smaller is a picture in the 256 colours that it has most of: a third of the
// bytes, and nobody sees the difference on a page.
func smaller(t *testing.T, picture []byte) []byte {
	t.Helper()
	from, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	colours := map[color.Color]int{}
	each := func(do func(x, y int, c color.Color)) {
		for y := from.Bounds().Min.Y; y < from.Bounds().Max.Y; y++ {
			for x := from.Bounds().Min.X; x < from.Bounds().Max.X; x++ {
				do(x, y, color.RGBAModel.Convert(from.At(x, y)))
			}
		}
	}
	each(func(_, _ int, c color.Color) { colours[c]++ })
	most := slices.SortedFunc(maps.Keys(colours), func(a, b color.Color) int { return cmp.Compare(colours[b], colours[a]) })
	palette := color.Palette(most[:min(len(most), 256)])
	index := map[color.Color]uint8{}
	for c := range colours {
		index[c] = uint8(palette.Index(c))
	}
	to := image.NewPaletted(from.Bounds(), palette)
	each(func(x, y int, c color.Color) { to.SetColorIndex(x, y, index[c]) })
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, to); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
