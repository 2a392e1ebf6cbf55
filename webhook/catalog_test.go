package webhook

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCatalogDescribesEveryTypeOnce(t *testing.T) {
	var described []Type
	for _, e := range Catalog {
		described = append(described, e.Type)
	}
	if diff := cmp.Diff(Types, described); diff != "" {
		t.Errorf("types of the catalogue (-want +got):\n%s", diff)
	}
	if _, ok := Describe("CardBlocked"); ok {
		t.Error("an unknown type is described")
	}
}

func TestEveryTypeIsErasedWithACardAnAccountOrAnOrder(t *testing.T) {
	var erased []Type
	for _, with := range []Erasable{ErasableCard, ErasableAccount, ErasableOrder} {
		erased = append(erased, TypesErasedWith(with)...)
	}
	for _, e := range Catalog {
		if !slices.Contains(erased, e.Type) {
			t.Errorf("%s: nothing that can be erased takes its events along", e.Type)
		}
	}
}

func TestOnlyOrderEventsAreMadeHere(t *testing.T) {
	for _, e := range Catalog {
		if want := e.Type != CashoutOrderUpdated; e.FromInside != want {
			t.Errorf("%s: FromInside is %v", e.Type, e.FromInside)
		}
	}
}

// The catalogue's own parts must agree with each other, because readers,
// samples and documentation each look at another one.
func TestCatalogAgreesWithItself(t *testing.T) {
	for _, e := range slices.Concat(Catalog, own) {
		fields := map[string]Field{}
		for _, f := range e.Fields {
			for _, name := range f.Names() {
				if _, twice := fields[name]; twice {
					t.Errorf("%s: field %s is listed twice", e.Type, name)
				}
				fields[name] = f
			}
		}
		for _, name := range []string{e.IDField, e.OrderingKeyField} {
			if f := fields[name]; f.Kind != FieldID || !f.Required {
				t.Errorf("%s: %s must be a required id", e.Type, name)
			}
		}
		if diff := cmp.Diff(e.Statuses, fields["status"].Values); diff != "" {
			t.Errorf("%s: statuses and values of status differ:\n%s", e.Type, diff)
		}
		if f := fields["createdAt"]; f.Kind != FieldSeconds || !f.Required {
			t.Errorf("%s: createdAt must be required seconds", e.Type)
		}
		for _, m := range e.Moves {
			if m.From != "" && !slices.Contains(e.Statuses, m.From) || !slices.Contains(e.Statuses, m.To) {
				t.Errorf("%s: move %v names an unknown status", e.Type, m)
			}
		}
		for _, status := range e.Rejections {
			if !slices.Contains(e.Statuses, status) {
				t.Errorf("%s: %s is a rejection and no status", e.Type, status)
			}
		}
		checkFields(t, string(e.Type), e.Fields)
	}
}

func checkFields(t *testing.T, at string, fields []Field) {
	for _, f := range fields {
		at := at + "/" + f.Name
		if f.Doc == "" {
			t.Errorf("%s has no documentation", at)
		}
		if choice := f.Kind == FieldChoice; choice != (len(f.Values) > 0) {
			t.Errorf("%s: %d values for kind %s", at, len(f.Values), f.Kind)
		}
		if holds := f.Kind == FieldObject || f.Kind == FieldList; holds != (len(f.Members) > 0) {
			t.Errorf("%s: %d members for kind %s", at, len(f.Members), f.Kind)
		}
		if f.Kind == FieldObject && !f.Required {
			t.Errorf("%s: an object that may be left out has no empty form", at)
		}
		checkFields(t, at, f.Members)
	}
}

func TestExamplesHoldExactlyTheFieldsOfTheirType(t *testing.T) {
	for _, e := range Catalog {
		var data any
		if err := json.Unmarshal([]byte(e.Example), &data); err != nil {
			t.Errorf("%s: %v", e.Type, err)
			continue
		}
		checkExample(t, string(e.Type), e.Fields, data)
		if sorted, err := json.Marshal(data); err != nil || string(sorted) != e.Example {
			t.Errorf("%s: the example is not compact and sorted, as it is sent:\n%s", e.Type, sorted)
		}
	}
}

func checkExample(t *testing.T, at string, fields []Field, data any) {
	object, ok := data.(map[string]any)
	if !ok {
		t.Errorf("%s: the example holds %T instead of an object", at, data)
		return
	}
	var want, got []string
	for _, f := range fields {
		want = append(want, f.Names()...)
		switch value := object[f.Name].(type) {
		case map[string]any:
			checkExample(t, at+"/"+f.Name, f.Members, value)
		case []any:
			for _, item := range value {
				checkExample(t, at+"/"+f.Name, f.Members, item)
			}
		case string:
			if f.Kind == FieldChoice && !slices.Contains(f.Values, value) {
				t.Errorf("%s/%s: the example holds %q", at, f.Name, value)
			}
		}
	}
	for name := range object {
		got = append(got, name)
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: members of the example (-want +got):\n%s", at, diff)
	}
}

type lifeCycles struct {
	CashoutOrder struct {
		Initial     string
		States      []string
		Transitions []struct {
			From *string
			To   string
		}
		Refused [][2]string `json:"refused_examples"`
	} `json:"cashout_order"`
	Card            lifeCycle
	Topup           lifeCycle
	CardTransaction lifeCycle `json:"card_transaction"`
	KYC             lifeCycle
	SuccessFalse    map[Type][]string `json:"success_flag_false_when"`
}

type lifeCycle struct {
	Initial     []string
	Transitions [][2]string
	Types       []string
}

func (l lifeCycle) moves() map[Move]bool {
	moves := map[Move]bool{}
	for _, to := range l.Initial {
		moves[Move{"", to}] = true
	}
	for _, pair := range l.Transitions {
		moves[Move{pair[0], pair[1]}] = true
	}
	return moves
}

func readLifeCycles(t *testing.T) lifeCycles {
	raw, err := os.ReadFile("testdata/state_machines.json")
	if err != nil {
		t.Fatal(err)
	}
	var cycles lifeCycles
	if err := json.Unmarshal(raw, &cycles); err != nil {
		t.Fatal(err)
	}
	return cycles
}

func TestExpectedKnowsExactlyTheMovesOfTheLifeCycles(t *testing.T) {
	cycles := readLifeCycles(t)
	orders := map[Move]bool{{"", cycles.CashoutOrder.Initial}: true}
	for _, step := range cycles.CashoutOrder.Transitions {
		if step.From != nil {
			orders[Move{*step.From, step.To}] = true
		}
	}
	want := map[Type]map[Move]bool{
		CreateCard:          cycles.Card.moves(),
		TopupCard:           cycles.Topup.moves(),
		CardTransaction:     cycles.CardTransaction.moves(),
		ProfileUpdated:      cycles.KYC.moves(),
		CashoutOrderUpdated: orders,
	}
	for _, e := range Catalog {
		for _, from := range append([]string{""}, e.Statuses...) {
			for _, to := range e.Statuses {
				if got := Expected(e.Type, from, to); got != want[e.Type][Move{from, to}] {
					t.Errorf("Expected(%s, %q, %q) = %v", e.Type, from, to, got)
				}
			}
		}
		if len(e.Moves) != len(want[e.Type]) {
			t.Errorf("%s: %d moves, want %d", e.Type, len(e.Moves), len(want[e.Type]))
		}
	}
	for _, pair := range cycles.CashoutOrder.Refused {
		if Expected(CashoutOrderUpdated, pair[0], pair[1]) {
			t.Errorf("an order may go from %s to %s", pair[0], pair[1])
		}
	}
	order, _ := Describe(CashoutOrderUpdated)
	if diff := cmp.Diff(cycles.CashoutOrder.States, order.Statuses); diff != "" {
		t.Errorf("statuses of orders (-want +got):\n%s", diff)
	}
	if Expected("CardBlocked", "", "Init") {
		t.Error("an unknown type has expected moves")
	}
}

func TestSuccessIsFalseExactlyForRejections(t *testing.T) {
	rejections := readLifeCycles(t).SuccessFalse
	for _, e := range Catalog {
		for _, status := range e.Statuses {
			if want := !slices.Contains(rejections[e.Type], status); e.Type.Success(status) != want {
				t.Errorf("%s %s: success is %v", e.Type, status, !want)
			}
		}
		if e.Type.Success("Unheard") {
			t.Errorf("%s reports success by a status that it does not know", e.Type)
		}
	}
	if Type("CardBlocked").Success("Completed") {
		t.Error("a type that is not known reports success")
	}
}

func TestTransactionTypesAreThoseOfTheInterface(t *testing.T) {
	e, _ := Describe(CardTransaction)
	i := slices.IndexFunc(e.Fields, func(f Field) bool { return f.Name == "type" })
	if diff := cmp.Diff(readLifeCycles(t).CardTransaction.Types, e.Fields[i].Values); diff != "" {
		t.Errorf("types of transactions (-want +got):\n%s", diff)
	}
}
