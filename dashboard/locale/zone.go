package locale

import (
	"sync"
	"time"
	_ "time/tzdata" // a machine without zones, and old names such as Asia/Saigon, which browsers tell
)

// maxZone is how many bytes the name of a time zone may have.
const maxZone = 64

// zones are the time zones that somebody has asked for, by their names; there
// are about 600 to be had.
var zones sync.Map // of *time.Location

// Zone is the time zone that a name such as Asia/Ho_Chi_Minh stands for; nil:
// there is none.
func Zone(name string) *time.Location {
	if name == "" || name == "Local" || len(name) > maxZone {
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
