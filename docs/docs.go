// Package docs embeds the documents that a running gateway hands to partners.
package docs

import _ "embed"

// Interface is interface.md: onboarding, and what the gateway does where the
// interface document leaves it open.
//
//go:embed interface.md
var Interface []byte

// PartnerAPI is the OpenAPI document of the partner operations and of the
// notifications to partners.
//
//go:embed openapi-partner.yaml
var PartnerAPI []byte
