//! Accepts or rejects a request by the prefix of its path, which a controller keeps in shared memory
//! beside the counters: what `c-module` does, with the crate `ngx`.

mod dose;
mod status;

use std::ffi::{c_char, c_void};
use std::hint::black_box;
use std::mem::offset_of;
use std::ptr::{self, addr_of, addr_of_mut};

use filter_controller::memory::Memory;
use ngx::core::{NGX_CONF_ERROR, Status};
use ngx::ffi::{
    NGX_CONF_FLAG, NGX_CONF_NOARGS, NGX_CONF_TAKE1, NGX_HTTP_LOC_CONF, NGX_HTTP_LOC_CONF_OFFSET,
    NGX_HTTP_MAIN_CONF, NGX_HTTP_MAIN_CONF_OFFSET, NGX_HTTP_MODULE, NGX_HTTP_SRV_CONF,
    NGX_LOG_EMERG, ngx_array_push, ngx_command_t, ngx_conf_set_flag_slot, ngx_conf_set_str_slot,
    ngx_conf_t, ngx_flag_t, ngx_http_handler_pt, ngx_http_module_t,
    ngx_http_phases_NGX_HTTP_ACCESS_PHASE, ngx_int_t, ngx_module_t, ngx_str_t,
};
use ngx::http::{
    HTTPStatus, HttpModule, HttpModuleLocationConf, HttpModuleMainConf, Merge, MergeConfigError,
    NgxHttpCoreModule, Request,
};
use ngx::{http_request_handler, ngx_conf_log_error, ngx_modules, ngx_string};

const DEFAULT_SHM: &str = "/baseline_nginx_filter_shm";
/// nginx's mark of a flag that was not given.
const UNSET: ngx_flag_t = -1;

struct Module;

/// Lives in the pool of its configuration, and unmaps the memory with it.
#[derive(Default)]
struct MainConf {
    name: ngx_str_t,
    memory: Option<Memory>,
}

struct LocationConf {
    enable: ngx_flag_t,
    /// The query says how often the filter is called.
    dosed: ngx_flag_t,
}

impl Default for LocationConf {
    fn default() -> Self {
        Self {
            enable: UNSET,
            dosed: UNSET,
        }
    }
}

impl Merge for LocationConf {
    fn merge(&mut self, outer: &Self) -> Result<(), MergeConfigError> {
        for (inner, outer) in [
            (&mut self.enable, outer.enable),
            (&mut self.dosed, outer.dosed),
        ] {
            if *inner == UNSET {
                *inner = outer.max(0);
            }
        }
        Ok(())
    }
}

// SAFETY: MainConf and LocationConf are what nginx has of this module's.
unsafe impl HttpModuleMainConf for Module {
    type MainConf = MainConf;
}

// SAFETY: as above.
unsafe impl HttpModuleLocationConf for Module {
    type LocationConf = LocationConf;
}

impl HttpModule for Module {
    fn module() -> &'static ngx_module_t {
        // SAFETY: nginx sets it up once, before anything here is called.
        unsafe { &*addr_of!(ngx_http_rust_filter_module) }
    }

    /// Run in the master, so that the workers inherit the mapping and need no right to open it.
    unsafe extern "C" fn postconfiguration(cf: *mut ngx_conf_t) -> ngx_int_t {
        // SAFETY: nginx gives a configuration that is its own until this returns.
        set_up(unsafe { &mut *cf }).unwrap_or(Status::NGX_ERROR).0
    }
}

fn set_up(cf: &mut ngx_conf_t) -> Option<Status> {
    let conf = Module::main_conf_mut(cf)?;
    let name = if conf.name.is_empty() {
        DEFAULT_SHM
    } else {
        std::str::from_utf8(conf.name.as_bytes()).ok()?
    };
    match Memory::open(name) {
        Ok(memory) => conf.memory = Some(memory),
        Err(error) => {
            ngx_conf_log_error!(NGX_LOG_EMERG, cf, "{error:#}");
            return None;
        }
    }
    let core = NgxHttpCoreModule::main_conf_mut(cf)?;
    let phase = &mut core.phases[ngx_http_phases_NGX_HTTP_ACCESS_PHASE as usize];
    // SAFETY: an array of such handlers, which nginx made.
    let handler = unsafe { ngx_array_push(&mut phase.handlers).cast::<ngx_http_handler_pt>() };
    // SAFETY: null, or the array's new element.
    *unsafe { handler.as_mut() }? = Some(filter);
    Some(Status::NGX_OK)
}

http_request_handler!(filter, |request: &mut Request| {
    let conf = Module::location_conf(request.as_ref()).filter(|conf| conf.enable == 1);
    let Some(conf) = conf else {
        return Status::NGX_DECLINED;
    };
    let Some(memory) = memory(request) else {
        return HTTPStatus::INTERNAL_SERVER_ERROR.into();
    };
    let mut accepted = call(memory, request);
    if conf.dosed == 1 {
        for _ in 1..dose::of(request) {
            accepted = call(memory, black_box(request));
        }
    }
    if accepted {
        Status::NGX_OK
    } else {
        HTTPStatus::FORBIDDEN.into()
    }
});

http_request_handler!(answer_status, |request: &mut Request| {
    match memory(request) {
        Some(memory) => status::send(request, memory),
        None => HTTPStatus::INTERNAL_SERVER_ERROR.into(),
    }
});

/// Decides on the request and counts the decision.
fn call(memory: &Memory, request: &Request) -> bool {
    let accepted = memory.accepts(request.path().as_bytes());
    memory.count(accepted);
    accepted
}

/// Return the memory of the controller that the request's configuration names.
fn memory(request: &Request) -> Option<&'static Memory> {
    Module::main_conf(request.as_ref())?.memory.as_ref()
}

static mut COMMANDS: [ngx_command_t; 5] = [
    ngx_command_t {
        name: ngx_string!("rust_filter"),
        type_: (NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF | NGX_CONF_FLAG) as _,
        set: Some(ngx_conf_set_flag_slot),
        conf: NGX_HTTP_LOC_CONF_OFFSET,
        offset: offset_of!(LocationConf, enable),
        post: ptr::null_mut(),
    },
    ngx_command_t {
        name: ngx_string!("rust_filter_dosed"),
        type_: (NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF | NGX_CONF_FLAG) as _,
        set: Some(ngx_conf_set_flag_slot),
        conf: NGX_HTTP_LOC_CONF_OFFSET,
        offset: offset_of!(LocationConf, dosed),
        post: ptr::null_mut(),
    },
    ngx_command_t {
        name: ngx_string!("rust_filter_shm"),
        type_: (NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1) as _,
        set: Some(ngx_conf_set_str_slot),
        conf: NGX_HTTP_MAIN_CONF_OFFSET,
        offset: offset_of!(MainConf, name),
        post: ptr::null_mut(),
    },
    ngx_command_t {
        name: ngx_string!("filter_status"),
        type_: (NGX_HTTP_LOC_CONF | NGX_CONF_NOARGS) as _,
        set: Some(set_status),
        conf: 0,
        offset: 0,
        post: ptr::null_mut(),
    },
    ngx_command_t::empty(),
];

extern "C" fn set_status(
    cf: *mut ngx_conf_t,
    _command: *mut ngx_command_t,
    _conf: *mut c_void,
) -> *mut c_char {
    // SAFETY: nginx gives the configuration of the location that the directive is in.
    match NgxHttpCoreModule::location_conf_mut(unsafe { &*cf }) {
        Some(location) => {
            location.handler = Some(answer_status);
            ptr::null_mut()
        }
        None => NGX_CONF_ERROR as _,
    }
}

static CONTEXT: ngx_http_module_t = ngx_http_module_t {
    preconfiguration: None,
    postconfiguration: Some(Module::postconfiguration),
    create_main_conf: Some(Module::create_main_conf),
    init_main_conf: None,
    create_srv_conf: None,
    merge_srv_conf: None,
    create_loc_conf: Some(Module::create_loc_conf),
    merge_loc_conf: Some(Module::merge_loc_conf),
};

ngx_modules!(ngx_http_rust_filter_module);

/// The module's descriptor, by which nginx finds it.
#[used]
#[allow(non_upper_case_globals)]
pub static mut ngx_http_rust_filter_module: ngx_module_t = ngx_module_t {
    ctx: addr_of!(CONTEXT) as _,
    commands: addr_of_mut!(COMMANDS) as _,
    type_: NGX_HTTP_MODULE as _,
    ..ngx_module_t::default()
};
