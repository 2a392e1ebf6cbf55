-- +goose Up
-- Usernames stay unique, but those of partners' people stand behind a slash,
-- which no name holds: they tell nobody which names operators have.
UPDATE people SET username = '/' || username WHERE partner_code <> '';

-- +goose Down
UPDATE people SET username = ltrim(username, '/') WHERE partner_code <> '';
