-- A database of subscribers of version 1 in PostgreSQL, as the release of 2026-11-28 wrote it (pg_dump --inserts); its key is
-- 32 octets of 9. Subscribers 1 and 2, a third one that was removed, and two keys of the home network.
CREATE TABLE about (
    id bigint NOT NULL,
    program text NOT NULL,
    version bigint NOT NULL,
    key_check bytea NOT NULL,
    changes bigint DEFAULT 0 NOT NULL,
    home_keys_changed bigint DEFAULT 0 NOT NULL,
    CONSTRAINT about_id_check CHECK ((id = 0))
);
CREATE TABLE home_key (
    id bigint NOT NULL,
    profile text NOT NULL,
    private bytea NOT NULL,
    public bytea NOT NULL
);
CREATE TABLE network (
    imsi text NOT NULL COLLATE pg_catalog."C",
    place bigint NOT NULL,
    slice text NOT NULL COLLATE pg_catalog."C",
    is_default bigint NOT NULL,
    dnn text COLLATE pg_catalog."C",
    types text,
    default_type text,
    ambr_down_bps bigint,
    ambr_up_bps bigint,
    five_qi bigint,
    arp bigint,
    ipv4 text COLLATE pg_catalog."C",
    ipv6_prefix text COLLATE pg_catalog."C"
);
CREATE TABLE removed (
    imsi text NOT NULL COLLATE pg_catalog."C",
    changed bigint DEFAULT (current_setting('sluice.change'::text))::bigint NOT NULL
);
CREATE TABLE subscriber (
    imsi text NOT NULL COLLATE pg_catalog."C",
    keys bytea NOT NULL,
    sqn bigint NOT NULL,
    sqn_difference_s bigint NOT NULL,
    barred bigint NOT NULL,
    ambr_down_bps bigint NOT NULL,
    ambr_up_bps bigint NOT NULL,
    algorithm text NOT NULL,
    method text NOT NULL,
    changed bigint DEFAULT (current_setting('sluice.change'::text))::bigint NOT NULL
);
INSERT INTO about VALUES (0, 'sluice subscribers', 1, '\x8d6b50e2d0caba0ee5a8384a54337cb708f331302b3f089296c20a987755cb81891ecce2eb0310b8b9fff1cc6a77048cb38486c969a48531', 6, 6);
INSERT INTO home_key VALUES (1, 'a', '\x9a277a4bedec7a6e1aaee06d3e97dafdad0c6d9549ec2ef1111d9bba837efdf9a88aa69581b028ed87eb73152cb3aaa8986fe0c25fd1acd9f0dde7c652ee5e7c682a48dc2f6f3237', '\x04fe9699f8cf77dc01cc18b28c04001322a8f361264772fe144509a4822e042f');
INSERT INTO home_key VALUES (2, 'b', '\xfaa75b22db72b90c0db431ecda83d4ca4cd2cbf9a10ea063a515016d0bf6720bdfe68165291cbe9de12ebbbcb155f13adbf6dcfabb81e4e45ec464835507144bffca3d9aa1e0bdf0', '\x02c4f7ee4e4fdf442a4ab6328d5a5642ff524a67eba1926b7818244b1fdd9218e3');
INSERT INTO network VALUES ('001010000000001', 0, '1', 1, 'internet', 'ipv4 ipv6 ipv4v6', 'ipv4v6', 1000000000, 1000000000, 9, 8, NULL, NULL);
INSERT INTO network VALUES ('001010000000002', 0, '2-0000ab', 1, 'ims', 'ipv4 ipv6 ipv4v6', 'ipv4v6', 1000000000, 1000000000, 9, 8, '10.0.0.2', NULL);
INSERT INTO removed VALUES ('001010000000003', 4);
INSERT INTO subscriber VALUES ('001010000000001', '\x81142997fd0e1cb4dd0e46bc1866da3c145f11fcf8dc5350e3c31f4229bcaed4d3bfa103ebfd24d5db267c807affff5f72c8b562311467ab065641f4bcb0cd2c3ed7d5751f9af5a4', 0, -1790000000, 0, 1000000000, 1000000000, 'milenage', '5g_aka', 1);
INSERT INTO subscriber VALUES ('001010000000002', '\xeecd5575b658ca504d715f6b95f2d7b7b88368a86b968ad36c5acb7ae4ea1705ce8ce238c9f9f7e83f8a6e63691de1deda3e1aa57e51f347714b370e1252afaaadcaa70235699f5f', 43981, -1789998626, 1, 1000000000, 1000000000, 'milenage', 'eap_aka_prime', 2);
ALTER TABLE ONLY about
    ADD CONSTRAINT about_pkey PRIMARY KEY (id);
ALTER TABLE ONLY home_key
    ADD CONSTRAINT home_key_pkey PRIMARY KEY (id);
ALTER TABLE ONLY network
    ADD CONSTRAINT network_pkey PRIMARY KEY (imsi, place);
ALTER TABLE ONLY removed
    ADD CONSTRAINT removed_pkey PRIMARY KEY (imsi);
ALTER TABLE ONLY subscriber
    ADD CONSTRAINT subscriber_pkey PRIMARY KEY (imsi);
CREATE INDEX network_ipv4 ON network USING btree (ipv4, dnn) WHERE (ipv4 IS NOT NULL);
CREATE INDEX network_ipv6 ON network USING btree (ipv6_prefix, dnn) WHERE (ipv6_prefix IS NOT NULL);
CREATE INDEX removed_changed ON removed USING btree (changed);
CREATE INDEX subscriber_changed ON subscriber USING btree (changed);
ALTER TABLE ONLY network
    ADD CONSTRAINT network_imsi_fkey FOREIGN KEY (imsi) REFERENCES subscriber(imsi) ON DELETE CASCADE;
