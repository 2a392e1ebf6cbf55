package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestAnAxisEndsWithRoundNumbers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ in, want axis }{
		{axis{2, 345}, axis{2, 500}},
		{axis{0.9, 1000}, axis{0.5, 1000}},
		{axis{7, 7}, axis{5, 10}},
		{axis{5, 5}, axis{5, 50}},
		{axis{0, 0}, axis{1, 10}},
	} {
		if got := test.in.rounded(); got != test.want {
			t.Errorf("%v is rounded to %v, want %v", test.in, got, test.want)
		}
	}
}

func TestThePictureIsXMLAndDrawsEverySettingInside(t *testing.T) {
	t.Parallel()
	rates := []Phase{{Name: "single POSTs", Accepted: 492, Delivered: 345, P50: 800, P99: 1400},
		{Name: "2/s", Asked: 2, Delivered: 2, P50: 26, P99: 47}, {Name: "300/s", Asked: 300, Delivered: 299, P50: 48, P99: 134}}
	picture := draw([]Result{{Title: "a < b & c", Phases: rates}, {Title: "second", Phases: rates}})
	elements := map[string]int{}
	for decoder := xml.NewDecoder(strings.NewReader(picture)); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok {
			elements[start.Name.Local]++
		}
	}
	if elements["polyline"] != 6 || elements["rect"] != 2 { // throughput, p50 and p99 of both; two frames
		t.Errorf("the picture has %v", elements)
	}
	if strings.Contains(picture, "NaN") || strings.Contains(picture, "Inf") {
		t.Error("a point lies nowhere")
	}
	if empty := draw(nil); !strings.Contains(empty, "</svg>") || strings.Contains(empty, "NaN") {
		t.Errorf("nothing measured gives %s", empty)
	}
}
