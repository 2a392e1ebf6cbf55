-- +goose Up
-- The OpenID Connect provider's unchanging name for an operator, after its
-- issuer and a blank; empty for people with a password here.
ALTER TABLE people ADD COLUMN subject TEXT NOT NULL DEFAULT '';
CREATE UNIQUE INDEX people_subject ON people (subject) WHERE subject <> '';

-- +goose Down
DROP INDEX people_subject;
ALTER TABLE people DROP COLUMN subject;
