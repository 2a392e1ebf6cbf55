package locale

import (
	"regexp"
	"sync"
	"time"
	_ "time/tzdata" // a machine without zones, and old names such as Asia/Saigon, which browsers tell
)

// maxZone is how many bytes the name of a time zone may have.
const maxZone = 64

// zoneName is what the names of time zones look like. Anybody can ask for one,
// and a machine's files would be read, and kept, for Asia//Tokyo and
// Asia/./Tokyo, too.
var zoneName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9][A-Za-z0-9_+-]*){0,2}$`)

// zones are the time zones that somebody has asked for, by their names; there
// are about 600 to be had, or three times as many where a machine has variants.
var zones sync.Map // of *time.Location

// Zone is the time zone that a name such as Asia/Ho_Chi_Minh stands for; nil:
// there is none.
func Zone(name string) *time.Location {
	if name == "Local" || len(name) > maxZone || !zoneName.MatchString(name) {
		return nil
	}
	if known, ok := zones.Load(name); ok {
		return known.(*time.Location)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil
	}
	zones.Store(name, zone)
	return zone
}
