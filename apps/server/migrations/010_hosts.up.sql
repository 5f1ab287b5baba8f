-- breaking: no
-- Hosts and their services. What is queued or running is not here: a host is a runner of the engine, a service is a
-- lane.
create sequence {schema}.host_seq;
create sequence {schema}.service_seq;

create table {schema}.hosts (
  tenant_id int not null,
  host_id bigint not null default nextval('{schema}.host_seq'),
  name text not null,
  runner_id bigint not null,
  -- a host that registered itself repeats the request with the secret it made up, if the answer was lost
  enrolment_sha256 bytea,
  created_at timestamptz not null default now(),
  primary key (tenant_id, host_id)
);
create unique index one_host_per_name on {schema}.hosts (tenant_id, name);
create unique index one_host_per_enrolment on {schema}.hosts (tenant_id, enrolment_sha256) where enrolment_sha256 is not null;

create table {schema}.services (
  tenant_id int not null,
  service_id bigint not null,
  host_id bigint not null,
  lane_id bigint not null,
  unit_name text collate "C" not null,
  display_name text not null,
  description text not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, service_id),
  constraint services_belong_to_a_host foreign key (tenant_id, host_id) references {schema}.hosts (tenant_id, host_id)
);
-- nginx and nginx.service are the same unit
create unique index one_service_per_unit on {schema}.services (tenant_id, host_id, (regexp_replace(unit_name, '\.service$', '')));
create unique index one_service_per_lane on {schema}.services (tenant_id, lane_id);
