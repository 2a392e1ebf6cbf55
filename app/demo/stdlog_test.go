package demo

import (
	"bytes"
	"log"
	"strings"
	"testing"
)

// What libraries print by the default logger, net/http of the partners'
// receivers among them, is a warning of the gateway's on the screen.
func TestWhatLibrariesPrintIsTheDemosAndHoldsNoPayload(t *testing.T) {
	to, flags := log.Writer(), log.Flags()
	t.Cleanup(func() { log.SetOutput(to); log.SetFlags(flags) })
	s, err := newSettings([]string{"LEDGERHOOK_DATA_DIR=" + t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	d := &demo{screen: &screen{out: &out}, tally: newTally()}
	if err := d.start(t.Context(), s.anyPorts()); err != nil {
		t.Fatal(err)
	}
	log.Print(`Unsolicited response received on idle HTTP channel starting with "s3cret"; err=<nil>`)
	if err := d.stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "level=WARN") || !strings.Contains(text, "idle HTTP channel") || strings.Contains(text, "s3cret") {
		t.Errorf("the screen shows %q", text)
	}
}
